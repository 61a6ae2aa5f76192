/** Schedulers in processes of their own, on the file store and the machine's time: how they end, and what they leave. */
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { FileStore, type JobRecord, type ScheduleState } from "../../src/index.js";
import { type Child, Children, until } from "../state/child.js";
import { stateDirectory } from "../state/temporary-directory.js";

const PROGRAM = new URL("processes/schedule.js", import.meta.url).href;
const WORK = { agent: "a", schedule: "work" };

interface Line {
  readonly running?: number;
  readonly refused?: string;
  readonly message?: string;
  readonly owner?: { readonly pid: number };
  readonly started?: string;
  readonly finished?: string;
  readonly slot?: string;
  readonly source?: string;
  readonly error?: string;
  readonly stopped?: boolean;
  readonly blocked?: number;
  readonly unblocked?: number;
}

const saidBy = ({ lines }: Child): Line[] => lines.map((line) => JSON.parse(line) as Line);
const startsOf = (child: Child): Line[] => saidBy(child).filter(({ started }) => started !== undefined);
const has = (key: keyof Line) => (line: string) => key in (JSON.parse(line) as Line);

interface How {
  readonly interval?: string;
  readonly jobMs?: number;
  readonly blockMs?: number;
  readonly unref?: boolean;
  readonly stopAfterStart?: boolean;
}

function schedule(children: Children, stateDir: string, how: How = {}, cwd?: string): Child {
  return children.start(PROGRAM, [stateDir, JSON.stringify(how)], cwd);
}

/** A scheduler that runs on the directory, as soon as whoever had it before is taken for dead. */
async function successor(children: Children, stateDir: string, how: How): Promise<Child> {
  for (;;) {
    const child = schedule(children, stateDir, how);
    const line = await child.line((said) => has("running")(said) || has("refused")(said));
    if (has("running")(line)) return child;
    await child.kill();
  }
}

async function leftIn(stateDir: string): Promise<{ jobs: readonly JobRecord[]; state: ScheduleState }> {
  await using store = new FileStore({ stateDir });
  return { jobs: await store.jobs.list(), state: await store.read(WORK) };
}

/** Resolves when the process has started a job and the log has it, which it need not have when that is told. */
async function logged(child: Child, stateDir: string): Promise<void> {
  const { started = "" } = JSON.parse(await child.line(has("started"))) as Line;
  const directory = join(stateDir, "jobs");
  const files = (): string[] => (existsSync(directory) ? readdirSync(directory) : []);
  await until(() => files().some((file) => readFileSync(join(directory, file), "utf8").includes(started)));
}

const unique = (lines: readonly Line[]): number => new Set(lines.map(({ slot }) => slot)).size;

describe("a process with a scheduler", () => {
  it("ends by itself after stop", async () => {
    await using children = new Children();
    const child = schedule(children, stateDirectory(), { stopAfterStart: true });
    await child.end();
    expect(child.exitCode).toBe(0);
    expect(saidBy(child)).toContainEqual({ stopped: true });
  });

  it("ends by itself after a stop that waited for a job", async () => {
    await using children = new Children();
    const stateDir = stateDirectory();
    const child = schedule(children, stateDir, { jobMs: 300 });
    await child.line(has("started"));
    child.say("stop");
    await child.end();
    expect(child.exitCode).toBe(0);
    const { jobs, state } = await leftIn(stateDir);
    expect(jobs.map(({ status }) => status)).toEqual(startsOf(child).map(() => "completed"));
    expect(state.status).toBe("idle");
  });

  it("ends without stop when the scheduler is not to keep it", async () => {
    await using children = new Children();
    const child = schedule(children, stateDirectory(), { unref: true, interval: "1h" });
    await child.end();
    expect(child.exitCode).toBe(0);
    expect(saidBy(child).filter(({ running }) => running !== undefined)).toEqual([{ running: child.pid }]);
  });

  it("needs no options: state and jobs are in .rota", async () => {
    await using children = new Children();
    const cwd = stateDirectory();
    const child = schedule(children, "", { interval: "1h" }, cwd);
    await child.line(has("finished"));
    child.say("stop");
    await child.end();
    expect(readFileSync(join(cwd, ".rota", "state.yaml"), "utf8")).toContain("work:");
    const { jobs, state } = await leftIn(join(cwd, ".rota"));
    expect(jobs).toMatchObject([{ ...WORK, status: "completed" }]);
    expect(state).toMatchObject({ status: "idle", next_run_source: "baseline-interval" });
  });

  it("keeps a second one off its directory, and goes on", async () => {
    await using children = new Children();
    const stateDir = stateDirectory();
    const first = schedule(children, stateDir);
    await first.line(has("running"));
    const second = schedule(children, stateDir, { stopAfterStart: true });
    await second.end();
    const [refusal] = saidBy(second);
    expect(refusal).toMatchObject({ refused: "StateLockedError", owner: { pid: first.pid } });
    expect(refusal?.message).toContain(`by process ${first.pid}`);
    const before = startsOf(first).length;
    await until(() => startsOf(first).length > before + 1);
    expect(startsOf(second)).toEqual([]);
    expect(unique(startsOf(first))).toBe(startsOf(first).length);
  });

  it("that is killed in the middle of a job leaves it interrupted, and the next runs the same slot as attempt 2", async () => {
    await using children = new Children();
    const stateDir = stateDirectory();
    const killed = schedule(children, stateDir, { interval: "1h", jobMs: 600_000 });
    await logged(killed, stateDir);
    await killed.kill();
    const next = await successor(children, stateDir, { interval: "1h" });
    await next.line(has("finished"));
    next.say("stop");
    await next.end();
    expect(startsOf(next)).toMatchObject([{ source: "retry", slot: startsOf(killed)[0]?.slot }]);
    const { jobs, state } = await leftIn(stateDir);
    expect(jobs.map(({ status, source, trigger, attempt }) => [status, source, trigger, attempt])).toEqual([
      ["completed", "retry", "retry", 2],
      ["interrupted", "first-run", "interval", 1],
    ]);
    expect(new Set(jobs.map(({ slot }) => slot)).size).toBe(1);
    expect(state).toMatchObject({ status: "idle", last_error: null });
  });

  it("that stands still for 6 s runs no slot twice, and catches up at most once", async () => {
    await using children = new Children();
    const child = schedule(children, stateDirectory());
    await until(() => startsOf(child).length >= 2);
    child.signal("SIGSTOP");
    const before = startsOf(child).length;
    await setTimeout(6_000);
    child.signal("SIGCONT");
    await until(() => startsOf(child).length >= before + 3);
    child.say("stop");
    await child.end();
    const starts = startsOf(child);
    expect(unique(starts)).toBe(starts.length);
    expect(starts.filter(({ source }) => source === "catch-up").length).toBeLessThanOrEqual(1);
    expect(saidBy(child).filter(({ error }) => error !== undefined)).toEqual([]);
  });

  it("that is busy for 9 s keeps its directory: a second one is refused, and no job runs in both", async () => {
    await using children = new Children();
    const stateDir = stateDirectory();
    const first = schedule(children, stateDir, { blockMs: 9_000, interval: "1h" });
    await first.line(has("blocked"));
    const second = schedule(children, stateDir, { stopAfterStart: true });
    await second.end();
    expect(saidBy(first).some(({ unblocked }) => unblocked !== undefined)).toBe(false);
    expect(saidBy(second)).toMatchObject([{ refused: "StateLockedError", owner: { pid: first.pid } }]);
    await first.line(has("finished"));
    first.say("stop");
    await first.end();
    expect(saidBy(first).filter(({ error }) => error !== undefined)).toEqual([]);
    const { jobs } = await leftIn(stateDir);
    expect(jobs.map(({ status }) => status)).toEqual(["completed"]);
  });

  it.each([0, 60_000])("whose directory is deleted says so and stops, with jobs of %i ms", async (jobMs) => {
    await using children = new Children();
    const stateDir = stateDirectory();
    const child = schedule(children, stateDir, { jobMs });
    await logged(child, stateDir);
    rmSync(stateDir, { recursive: true });
    await child.line(has("stopped"));
    const messages = saidBy(child).flatMap(({ error, message }) => (error === undefined ? [] : [message]));
    expect(messages).toContainEqual(
      expect.stringContaining(`${stateDir} was deleted while this process used it`),
    );
    expect(child.lines.join("\n")).not.toContain("taken over");
  });

  it("that was taken over while it stood still stops itself, and changes no state", async () => {
    await using children = new Children();
    const stateDir = stateDirectory();
    const first = schedule(children, stateDir, { jobMs: 1_000 });
    await logged(first, stateDir);
    first.signal("SIGSTOP");
    const second = await successor(children, stateDir, { interval: "1h" });
    await second.line(has("finished"));
    const left = await leftIn(stateDir);
    const before = startsOf(first).length;
    first.signal("SIGCONT");
    await first.line(has("stopped"));
    expect(saidBy(first)).toContainEqual(expect.objectContaining({ error: "StateLockedError" }));
    expect(startsOf(first).length).toBe(before);
    expect((await leftIn(stateDir)).state).toEqual(left.state);
    expect(saidBy(second).filter(({ error }) => error !== undefined)).toEqual([]);
  });
});
