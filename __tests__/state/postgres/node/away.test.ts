/** Schedulers whose database is away for a while: refused, or silent. In real time, on a real server. */
import { setTimeout } from "node:timers/promises";
import { describe, expect, inject, it, onTestFinished } from "vitest";
import { type Agent, type Job, type JobRecord, Scheduler } from "../../../../src/index.js";
import { PostgresStore } from "../../../../src/state/postgres/index.js";
import { until } from "../../child.js";
import { type Line, lineTo } from "../connection/line.js";
import { scene } from "../scene.js";
import { startServer } from "../server.js";

interface Stage {
  readonly line: Line;
  readonly scheduler: Scheduler;
  /** A store on the same schema that the line does not matter to. */
  readonly outsider: PostgresStore;
  /** Names of the agents whose jobs were started. */
  readonly starts: string[];
  readonly ended: JobRecord[];
  /** Why jobs were told to end. */
  readonly told: string[];
  readonly lines: string[];
  /** Ends the job of agent "long". */
  readonly finish: (summary: string) => void;
  readonly agents: readonly Agent[];
  /** Another node, which does not use the line. */
  readonly another: () => Promise<PostgresStore>;
}

async function stage(leaseMs: number): Promise<Stage> {
  const { schema, outsider, node } = scene();
  const line = await lineTo(inject("databaseUrl"));
  const lines: string[] = [];
  const note = (message: string): unknown => lines.push(message);
  const logger = { info() {}, warn: note, error: note };
  const store = new PostgresStore({ connectionString: line.url, schema, leaseMs, logger });
  const scheduler = new Scheduler({ store, logger, checkInterval: 200 });
  const starts: string[] = [];
  const ended: JobRecord[] = [];
  const told: string[] = [];
  scheduler.on("job:started", ({ job }) => starts.push(job.agent));
  scheduler.on("job:finished", ({ job }) => ended.push(job));
  let finish = (_summary: string): void => {};
  const long = ({ signal }: Job): Promise<string> => {
    signal.addEventListener("abort", () => told.push((signal.reason as Error).message));
    return new Promise((resolve) => {
      finish = resolve;
    });
  };
  onTestFinished(async () => {
    finish("the test is over");
    await line.mend();
    await scheduler.stop({ waitForJobs: false });
  });
  return {
    line,
    scheduler,
    outsider: outsider({ clock: undefined }),
    starts,
    ended,
    told,
    lines,
    finish: (summary) => finish(summary),
    agents: [
      { name: "long", schedules: { work: { type: "interval", interval: "1h" } }, run: long },
      { name: "often", schedules: { work: { type: "interval", interval: "1s" } }, run() {} },
    ],
    another: () => node({ clock: undefined, leaseMs }),
  };
}

const LONG = { agent: "long", schedule: "work" };

describe("a scheduler whose database is away", () => {
  it("starts nothing new, lets jobs go on, and writes their results when it is back", async () => {
    const { line, scheduler, outsider, starts, ended, told, lines, finish, agents } = await stage(60_000);
    await scheduler.start(agents);
    await until(() => starts.includes("long") && starts.includes("often"));
    await line.cut();
    await until(() => lines.length > 0);
    const before = starts.length;
    finish("done while it was away");
    await setTimeout(3_000);
    expect([starts.length, told]).toEqual([before, []]);
    expect((await outsider.read(LONG)).status).toBe("running");
    await line.mend();
    await until(() => ended.some(({ agent }) => agent === "long"));
    expect(await outsider.jobs.list({ agent: "long" })).toMatchObject([
      { status: "completed", summary: "done while it was away" },
    ]);
    expect(await outsider.read(LONG)).toMatchObject({ status: "idle", failure_count: 0 });
    await until(() => starts.length > before);
  });

  it.each(["cut", "hang"] as const)(
    "has all that a job wrote meanwhile, once, when its line was %s for longer than an output is waited for",
    async (how) => {
      const { line, scheduler, outsider, ended, agents } = await stage(60_000);
      const [{ schedules } = {}] = agents;
      const race = { isOver: false };
      let written = "";
      const run = async ({ log }: Job): Promise<void> => {
        for (let at = 0; !race.isOver; at++) {
          log(`line ${at}`);
          written += `line ${at}\n`;
          await setTimeout(50);
        }
      };
      await scheduler.start([{ name: "wordy", schedules: { ...schedules }, run }]);
      await until(() => written.length > 100);
      await line[how]();
      await setTimeout(6_000);
      await line.mend();
      const before = written.length;
      await until(() => written.length > before + 200);
      race.isOver = true;
      await until(() => ended.length > 0);
      expect(await outsider.jobs.readOutput(ended[0]?.id ?? "")).toBe(written);
    },
  );

  it("says once what is wrong, however long that lasts", async () => {
    const { line, scheduler, starts, lines, agents } = await stage(60_000);
    await scheduler.start(agents);
    await until(() => starts.includes("often"));
    await line.cut();
    await until(() => lines.length > 0);
    await setTimeout(3_000);
    expect(lines.filter((text, place) => lines.indexOf(text) !== place)).toEqual([]);
  });

  it.each(["cut", "hang"] as const)(
    "tells its jobs to end before another can begin them, when its line is %s",
    async (how) => {
      const { line, scheduler, starts, told, agents, another } = await stage(3_000);
      const other = await another();
      await scheduler.start(agents.filter(({ name }) => name === "long"));
      await until(() => starts.includes("long"));
      await line[how]();
      await other.define({ schedules: [LONG] });
      let taken: readonly unknown[] = [];
      while (taken.length === 0) {
        await setTimeout(20);
        taken = (await other.claimDue(10)).claims;
        expect(taken.length - told.length).toBeLessThanOrEqual(0);
      }
      expect(told).toEqual([expect.stringContaining("its claim could not be renewed for")]);
    },
  );

  it.each(["cut", "hang"] as const)("can be stopped, when its line is %s", async (how) => {
    const { line, scheduler, starts, agents } = await stage(60_000);
    await scheduler.start(agents.filter(({ name }) => name === "long"));
    await until(() => starts.includes("long"));
    await line[how]();
    await expect(scheduler.stop({ timeout: 1_000 })).rejects.toMatchObject({
      code: "SHUTDOWN_TIMEOUT",
      runningJobCount: 1,
    });
  });

  it("can be stopped without a job", async () => {
    const { line, scheduler, starts, ended, lines, agents } = await stage(60_000);
    await scheduler.start(agents.filter(({ name }) => name === "often"));
    await until(() => starts.length > 0 && ended.length === starts.length);
    await line.cut();
    await until(() => lines.length > 0);
    await scheduler.stop({ timeout: 30_000 });
    expect(scheduler.getStatus()).toBe("stopped");
  });
});

describe("a scheduler whose server is restarted", () => {
  it("recovers by itself, and the job that ran meanwhile succeeds", async () => {
    const server = await startServer();
    onTestFinished(() => server.stop());
    const { schema } = scene();
    const lines: string[] = [];
    const note = (message: string): unknown => lines.push(message);
    const logger = { info() {}, warn: note, error: note };
    const store = new PostgresStore({ connectionString: server.url, schema, logger });
    const scheduler = new Scheduler({ store, logger });
    onTestFinished(() => scheduler.stop({ waitForJobs: false }));
    const ended: JobRecord[] = [];
    scheduler.on("job:finished", ({ job }) => ended.push(job));
    let end = (): void => {};
    const long = (): Promise<void> =>
      new Promise((resolve) => {
        end = resolve;
      });
    let runs = 0;
    const often = (): unknown => runs++;
    await scheduler.start([
      { name: "long", schedules: { work: { type: "interval", interval: "1h" } }, run: long },
      { name: "often", schedules: { work: { type: "interval", interval: "1s" } }, run: often },
    ]);
    await until(() => runs > 1);
    await server.restart();
    const before = runs;
    await until(() => runs > before + 1);
    end();
    await until(() => ended.some(({ agent }) => agent === "long"));
    const records = await store.jobs.list();
    expect(records.filter(({ agent }) => agent === "long")).toMatchObject([{ status: "completed" }]);
    expect(new Set(records.map(({ agent, slot }) => `${agent} ${slot}`)).size).toBe(records.length);
    expect(lines.filter((text, place) => lines.indexOf(text) !== place)).toEqual([]);
  });
});

describe("a job that was cut off", () => {
  it("is interrupted, and its slot due again at once, where that can be written in time", async () => {
    const { line, scheduler, outsider, starts, ended, told, agents } = await stage(3_000);
    const run = ({ signal }: Job): Promise<never> =>
      new Promise((_, reject) => {
        signal.addEventListener("abort", () => {
          told.push("");
          void line.mend().then(() => reject(new Error("told to end")));
        });
      });
    await scheduler.start(agents.slice(0, 1).map((agent) => Object.assign({}, agent, { run })));
    await until(() => starts.includes("long"));
    await line.cut();
    await until(() => ended.length > 0);
    const [record] = await outsider.jobs.list({ agent: "long", status: "interrupted" });
    expect(record?.error).toMatch(/^interrupted: its claim could not be renewed for \d+ ms/);
    await until(() => starts.length > 1);
    expect(await outsider.read(LONG)).toMatchObject({ interrupted_count: 1 });
    // The job comes first, and then its record.
    await until(async () => (await outsider.jobs.list({ status: "running" })).length > 0);
    expect(await outsider.jobs.list({ status: "running" })).toMatchObject([{ source: "retry", attempt: 2 }]);
  });
});
