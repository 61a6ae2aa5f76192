/** A job through `run`, an executor or a work source: however it answers, at once or later, it ends as it says. */
import { describe, expect, it } from "vitest";
import {
  type Agent,
  type AgentSchedule,
  FakeClock,
  type Job,
  type JobRecord,
  MemoryStore,
  Scheduler,
  type SchedulerOptions,
  type WorkItem,
  type WorkOutcome,
  type WorkSources,
} from "../../../src/index.js";

const quiet = { info() {}, warn() {}, error() {} };
const hourly = { type: "interval", interval: "1h" } as const;

interface Outcome {
  readonly store: MemoryStore;
  readonly record: JobRecord | undefined;
  readonly skips: string[];
}

async function outcomeOf(
  run: Agent["run"],
  options: SchedulerOptions = {},
  more: Partial<AgentSchedule> = {},
): Promise<Outcome> {
  const clock = new FakeClock();
  const store = new MemoryStore();
  const scheduler = new Scheduler({ store, clock, logger: quiet, ...options });
  const ended: JobRecord[] = [];
  const skips: string[] = [];
  scheduler.on("job:finished", ({ job }) => void ended.push(job));
  scheduler.on("schedule:skipped", ({ reason }) => void skips.push(reason));
  await scheduler.start([
    { name: "worker", schedules: { hourly: { ...hourly, ...more } as AgentSchedule }, run },
  ]);
  await clock.advance("1s");
  await scheduler.stop();
  expect(ended.length + skips.length).toBe(1);
  return { store, record: ended[0], skips };
}

const later = <Answer>(answer: () => Answer): Promise<Answer> => Promise.resolve().then(answer);
const boom = (): never => {
  throw new Error("boom");
};

describe("a job's function", () => {
  it.each([
    ["at once", () => "done"],
    ["later", () => later(() => "done")],
  ])("that returns %s has completed", async (_, run) => {
    const { record } = await outcomeOf(run);
    expect(record).toMatchObject({ status: "completed", summary: "done", error: null });
  });

  it.each([
    ["at once", boom],
    ["later", () => later(boom)],
  ])("that throws %s has failed", async (_, run) => {
    const { record } = await outcomeOf(run);
    expect(record).toMatchObject({ status: "failed", error: "boom" });
  });

  it.each([
    ["returns", (): string => "done", /^line\n$/],
    ["throws", boom, /^line\nError: boom\n {4}at boom [^]*\n$/],
  ])(
    "that writes output and %s at once has all of it, closed, when it has ended",
    async (_, end, expected) => {
      let log: Job["log"] = () => {};
      const { store, record } = await outcomeOf((job) => {
        ({ log } = job);
        log("line");
        return end();
      });
      const output = await store.jobs.readOutput(record?.id ?? "");
      expect(output).toMatch(expected);
      log("too late");
      await later(() => {});
      expect(await store.jobs.readOutput(record?.id ?? "")).toBe(output);
    },
  );
});

describe("an executor", () => {
  it.each([
    ["at once", () => ({ success: false, error: "no" })],
    ["later", () => later(() => ({ success: false, error: "no" }))],
  ])("that returns %s decides how the job ended", async (_, execute) => {
    const { record } = await outcomeOf(undefined, { jobExecutor: { execute } });
    expect(record).toMatchObject({ status: "failed", error: "no" });
  });

  it.each([
    ["at once", boom],
    ["later", () => later(boom)],
    ["by an invalid result", () => null as never],
  ])("that fails %s fails the job", async (_, execute) => {
    const { record } = await outcomeOf(undefined, { jobExecutor: { execute } });
    expect(record).toMatchObject({ status: "failed" });
  });
});

const item: WorkItem = {
  id: "7",
  source: "list",
  externalId: "7",
  title: "Fix it",
  description: "",
  priority: "high",
  labels: [],
  metadata: {},
  url: undefined,
  createdAt: new Date(0),
  updatedAt: new Date(0),
};

const WORK = { work_source: { type: "list" } } as const;

/** A manager that always has the item, and the outcomes that it was given. */
function workSource(): { outcomes: WorkOutcome[]; options: SchedulerOptions } {
  const outcomes: WorkOutcome[] = [];
  const workSourceManager: WorkSources = {
    getNextWorkItem: async () => ({ item }),
    reportOutcome: async (_, outcome) => void outcomes.push(outcome),
  };
  return { outcomes, options: { workSourceManager } };
}

/** Results as a host without types, or with the types of a different version, returns them. */
describe("an executor's result", () => {
  const cyclic: Record<string, unknown> = {};
  cyclic["self"] = cyclic;
  const trap = Object.defineProperty({ success: true }, "summary", {
    get: boom,
  });
  const foreignError = { name: "Error", message: "from a different realm", stack: "Error: …" };

  it.each<[string, unknown, Partial<JobRecord>]>([
    ["an Error as its error", { success: false, error: new Error("no") }, { status: "failed", error: "no" }],
    [
      "an Error of a different realm",
      { success: false, error: foreignError },
      { status: "failed", error: "from a different realm" },
    ],
    [
      "an Error without a message",
      { success: false, error: new TypeError("") },
      { status: "failed", error: "TypeError" },
    ],
    ["null as its error", { success: false, error: null }, { status: "failed", error: "the job failed" }],
    ["an empty error", { success: false, error: "" }, { status: "failed", error: "the job failed" }],
    [
      "an Error and a success",
      { success: true, error: new Error("no") },
      { status: "completed", error: null },
    ],
    ["an object as its error", { success: false, error: cyclic }, { status: "failed" }],
    [
      "a timeout with an Error",
      { success: false, status: "timeout", error: new Error("slow") },
      { status: "timeout", error: "slow" },
    ],
    ["an unknown status", { success: false, status: "crashed" }, { status: "failed" }],
    ["a status against its success", { success: true, status: "failed" }, { status: "completed" }],
    [
      "a summary that is not text",
      { success: true, summary: { a: 1 } },
      { status: "completed", summary: null },
    ],
    ["a summary of null", { success: true, summary: null }, { status: "completed", summary: null }],
    [
      "a summary of megabytes",
      { success: true, summary: "x".repeat(5_000_000) },
      { status: "completed", summary: `${"x".repeat(4_000)}…` },
    ],
    ["an exit code of text", { success: true, exitCode: "0" }, { status: "completed", exit_code: null }],
    ["an exit code of null", { success: false, exitCode: null }, { status: "failed", exit_code: null }],
    ["a broken exit code", { success: true, exitCode: 0.5 }, { status: "completed", exit_code: null }],
    ["a cyclic body", { success: true, responseBody: cyclic }, { status: "completed", response_body: null }],
    ["a body of a bigint", { success: true, responseBody: 7n }, { status: "completed", response_body: null }],
    [
      "a body with a Map and a Date",
      { success: true, responseBody: { at: new Date(0), map: new Map() } },
      { status: "completed", response_body: { at: "1970-01-01T00:00:00.000Z", map: {} } },
    ],
    [
      "a body that throws",
      { success: true, responseBody: { toJSON: boom } },
      { status: "completed", response_body: null },
    ],
    ["a duration of NaN", { success: true, durationMs: Number.NaN }, { status: "completed", duration_ms: 0 }],
    ["a negative duration", { success: true, durationMs: -5 }, { status: "completed", duration_ms: 0 }],
    ["a duration of text", { success: true, durationMs: "5s" }, { status: "completed", duration_ms: 0 }],
    ["an unknown reason to skip", { success: true, skipReason: "bored" }, { status: "completed" }],
    ["a success that is not a boolean", { success: "yes" }, { status: "failed" }],
    ["no success", {}, { status: "failed" }],
    ["only text", "done", { status: "failed" }],
    ["a field that throws", trap, { status: "failed", error: "boom" }],
  ])("with %s is recorded, and the schedule goes on", async (_, returned, expected) => {
    for (const more of [{}, WORK]) {
      const { outcomes, options } = workSource();
      const clock = new FakeClock();
      const store = new MemoryStore();
      const execute = (): never => returned as never;
      const scheduler = new Scheduler({
        store,
        clock,
        logger: quiet,
        ...options,
        jobExecutor: { execute },
      });
      await scheduler.start([
        { name: "worker", schedules: { hourly: { ...hourly, on_failure: "continue", ...more } } },
      ]);
      await clock.advance("61m");
      const records = await store.jobs.list();
      expect(records).toHaveLength(2);
      for (const record of records) {
        expect(record).toMatchObject(expected);
        expect((record.error ?? "") === "").toBe(record.status === "completed");
        expect(record.work_item === null).toBe(more !== WORK);
      }
      expect(outcomes.every(({ summary }) => typeof summary === "string")).toBe(true);
      expect(outcomes.every(({ error }) => error === undefined || typeof error === "string")).toBe(true);
      await scheduler.stop();
    }
  });
});

describe("a work source", () => {
  const source = (found: typeof item | null): { outcomes: unknown[]; options: SchedulerOptions } => {
    const outcomes: unknown[] = [];
    const workSourceManager = {
      getNextWorkItem: () => Promise.resolve({ item: found }),
      reportOutcome: async (...outcome: unknown[]) => void outcomes.push(outcome.slice(0, 2)),
    };
    return { outcomes, options: { workSourceManager } };
  };

  it.each([
    ["success", (): string => "fixed", { summary: "fixed", error: undefined }],
    ["failure", boom, { summary: "Job completed", error: "boom" }],
  ])("receives the %s of a job", async (outcome, run, details) => {
    const { outcomes, options } = source(item);
    const { record } = await outcomeOf(run, options, WORK);
    expect(outcomes).toEqual([["7", { outcome, ...details }]]);
    expect(record?.status).toBe(outcome === "success" ? "completed" : "failed");
  });

  it("without an item is reported as a skip, and no job is called", async () => {
    const { record, skips } = await outcomeOf(boom, source(null).options, WORK);
    expect(record).toBeUndefined();
    expect(skips).toEqual(["no_work"]);
  });
});
