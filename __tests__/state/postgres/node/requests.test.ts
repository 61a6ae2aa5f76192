/** What is asked of several schedulers on one schema is done by the one that can. */
import { describe, expect, inject, it, onTestFinished } from "vitest";
import { askScheduler, type Job, type ScheduleKey, Scheduler } from "../../../../src/index.js";
import { PostgresStore } from "../../../../src/state/postgres/index.js";
import { until } from "../../child.js";
import { testMailbox } from "../../../contract/mailbox-contract.js";
import { sharedPool } from "../schema.js";
import { key, only, planAll, scene } from "../scene.js";

testMailbox("PostgresStore", async (clock) => {
  const { node, outsider } = scene();
  return {
    store: await node({ clock }),
    outside: outsider({ clock }).mailbox,
    reopen: () => node({ clock }),
  };
});

const AGENTS = ["one", "two", "three"];

/** A scheduler for each of the agents, whose jobs last until they are told to end. */
async function startAll(schema: string): Promise<void> {
  const logger = { info() {}, warn() {}, error() {} };
  for (const name of AGENTS) {
    const store = new PostgresStore({ connectionString: inject("databaseUrl"), schema, logger });
    const scheduler = new Scheduler({ store, logger });
    onTestFinished(() => scheduler.stop({ waitForJobs: false }));
    const run = ({ signal }: Job): Promise<void> =>
      new Promise((_, reject) => {
        signal.addEventListener("abort", () => reject(new Error("told to end")));
      });
    await scheduler.start([{ name, schedules: { work: { type: "webhook" } }, run }]);
  }
}

describe("schedulers that share a schema", () => {
  it("run what is asked for where it is known", async () => {
    const { schema, outsider } = scene();
    await startAll(schema);
    const store = outsider({ clock: undefined });
    for (const agent of AGENTS) {
      const answer = await askScheduler(store, { agent, schedule: "work" }, { action: "run" });
      expect(answer).toMatchObject({ job_id: expect.any(String) as string });
    }
  });

  it("cancel a job where it runs", async () => {
    const { schema, outsider } = scene();
    await startAll(schema);
    const store = outsider({ clock: undefined });
    for (const agent of AGENTS) {
      const work = { agent, schedule: "work" };
      const { job_id = "" } = (await askScheduler(store, work, { action: "run" })) ?? {};
      const cancel = { action: "cancel", job_id } as const;
      expect(await askScheduler(store, work, cancel, { timeoutMs: 3_000 })).toMatchObject({ job_id });
    }
  });
});

/** A scheduler that may have `maxConcurrent` jobs, all of which last until they are told to end. */
async function startOne(schema: string, maxConcurrent: number, busyWith?: string): Promise<Scheduler> {
  const logger = { info() {}, warn() {}, error() {} };
  const store = new PostgresStore({ connectionString: inject("databaseUrl"), schema, logger });
  const scheduler = new Scheduler({ store, logger, maxConcurrent });
  onTestFinished(() => scheduler.stop({ waitForJobs: false }));
  const run = ({ signal }: Job): Promise<void> =>
    new Promise((_, reject) => {
      signal.addEventListener("abort", () => reject(new Error("told to end")));
    });
  const schedules = { work: { type: "webhook" } } as const;
  await scheduler.start([...AGENTS, "busy", "busier"].map((name) => ({ name, schedules, run })));
  if (busyWith !== undefined) await scheduler.trigger(busyWith, "work");
  return scheduler;
}

/** Resolves when somebody has seen what is asked for, and left it to others. */
async function left(schema: string, { agent }: ScheduleKey): Promise<void> {
  await until(async () => {
    const rows = await sharedPool().query(
      `select refusal from "${schema}".requests where agent = '${agent}'`,
    );
    return rows.rows[0]?.["refusal"] === "at_capacity";
  });
}

describe("a scheduler that is full", () => {
  const RUN = { action: "run" } as const;

  it("leaves what is asked for to one that has room", async () => {
    const { schema, outsider } = scene();
    const full = await startOne(schema, 1, "busy");
    const store = outsider({ clock: undefined });
    const asking = AGENTS.map((agent) => askScheduler(store, { agent, schedule: "work" }, RUN));
    // It has seen them all before there is another.
    for (const agent of AGENTS) await left(schema, { agent, schedule: "work" });
    await startOne(schema, 10);
    for (const answer of await Promise.all(asking))
      expect(answer).toMatchObject({ job_id: expect.any(String) as string });
    expect(full.getTotalRunningJobCount()).toBe(1);
  });

  it("runs a request that no node has taken when it has room again", async () => {
    const { schema, outsider } = scene();
    const full = await startOne(schema, 1);
    const { jobId = "" } = await full.trigger("busy", "work");
    const store = outsider({ clock: undefined });
    const one = { agent: "one", schedule: "work" };
    const asking = askScheduler(store, one, RUN);
    await left(schema, one);
    full.cancel(jobId);
    expect(await asking).toMatchObject({ job_id: expect.any(String) as string });
  });

  it("refuses a request in the end when all nodes are full", async () => {
    const { schema, outsider } = scene();
    await startOne(schema, 1, "busy");
    await startOne(schema, 1, "busier");
    const store = outsider({ clock: undefined });
    const one = { agent: "one", schedule: "work" };
    const answer = await askScheduler(store, one, RUN, { timeoutMs: 3_000 });
    expect(answer).toMatchObject({ refusal: "at_capacity" });
    expect(await store.mailbox.pending()).toEqual([]);
  });
});

describe("a change to a schedule that is claimed here", () => {
  it("is decided on what other nodes have written meanwhile", async () => {
    const { node, outsider } = scene();
    const one = await node();
    await planAll([one], ["a/x"]);
    only((await one.claimDue(10)).claims);
    await outsider().update(key("a/x"), { failure_count: 7 });
    let found: number | null | undefined;
    await one.update(key("a/x"), ({ failure_count }) => {
      found = failure_count;
      return {};
    });
    expect(found).toBe(7);
  });
});
