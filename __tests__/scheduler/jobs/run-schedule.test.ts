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
  expect(ended).toHaveLength(1);
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
    ["returns", (): string => "done"],
    ["throws", boom],
  ])("that writes output and %s at once has all of it, closed, when it has ended", async (_, end) => {
    let log: Job["log"] = () => {};
    const { store, record } = await outcomeOf((job) => {
      ({ log } = job);
      log("line");
      return end();
    });
    expect(await store.jobs.readOutput(record?.id ?? "")).toBe("line\n");
    log("too late");
    await later(() => {});
    expect(await store.jobs.readOutput(record?.id ?? "")).toBe("line\n");
  });
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

const WORK = { work_source: { type: "list" } };

describe("a work source", () => {
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
    expect(record).toMatchObject({ status: "completed", summary: "no work" });
    expect(skips).toEqual(["no_work"]);
  });
});
