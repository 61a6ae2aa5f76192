/** A schedule that is run without a scheduler keeps the same state and the same records. */
import { describe, expect, it } from "vitest";
import {
  type Agent,
  type AgentSchedule,
  FakeClock,
  FileStore,
  type RunResult,
  runSchedule,
  type RunScheduleOptions,
  type WorkSources,
} from "../../../src/index.js";
import { stateDirectory } from "../../state/temporary-directory.js";
import { workItem } from "../work-item.js";

const schedule: AgentSchedule = { type: "interval", interval: "5m", prompt: "Read." };
const agent: Agent = { name: "reader", run: ({ prompt }) => `did: ${prompt}` };
const KEY = { agent: "reader", schedule: "news" };

async function ranOnce(
  more: Partial<RunScheduleOptions> = {},
): Promise<{ result: RunResult; store: FileStore; lines: string[] }> {
  const stateDir = more.stateDir ?? stateDirectory();
  const lines: string[] = [];
  const note = (line: string): unknown => lines.push(line);
  const clock = new FakeClock("2026-03-01T00:00:00Z");
  const logger = { info: note, warn: note, error: note };
  const result = await runSchedule({
    agent,
    scheduleName: "news",
    schedule,
    stateDir,
    clock,
    logger,
    ...more,
  });
  return { result, store: new FileStore({ stateDir }), lines };
}

describe("runSchedule", () => {
  it("runs the job, records it, and plans the next run", async () => {
    const { result, store, lines } = await ranOnce();
    expect(result).toEqual({
      success: true,
      jobId: expect.any(String),
      status: "completed",
      summary: "did: Read.",
      durationMs: 0,
      processedWorkItem: false,
    });
    expect(await store.read(KEY)).toMatchObject({
      status: "idle",
      last_run_at: "2026-03-01T00:00:00.000Z",
      next_run_at: "2026-03-01T00:05:00.000Z",
      last_error: null,
      failure_count: 0,
    });
    const [record] = await store.jobs.list();
    expect(record).toMatchObject({
      id: result.jobId,
      status: "completed",
      schedule: "news",
      trigger: "interval",
      prompt: "Read.",
      attempt: 1,
    });
    expect(lines).toEqual(["Running reader/news", "Completed reader/news: success"]);
    await store.close();
  });

  it.each([
    ["the due time that has come", "2026-02-28T23:55:00.000Z", "2026-02-28T23:55:00.000Z"],
    ["now when the next time is to come", "2026-03-01T00:04:00.000Z", "2026-03-01T00:00:00.000Z"],
    ["now when nothing is planned", undefined, "2026-03-01T00:00:00.000Z"],
  ])("gives its job a slot: %s", async (_, next_run_at, slot) => {
    const seen: unknown[] = [];
    const run: Agent["run"] = (job) => void seen.push(job.slot, job.key);
    const { store } = await ranOnce({ agent: { name: "reader", run }, scheduleState: { next_run_at } });
    expect(seen).toEqual([new Date(slot), `reader/news@${slot}`]);
    expect(await store.jobs.list()).toMatchObject([{ slot }]);
    await store.close();
  });

  it("backs off after a failure, and counts the next attempt", async () => {
    const stateDir = stateDirectory();
    const failing: Agent = {
      name: "reader",
      run: () => {
        throw new Error("no answer");
      },
    };
    const { result, lines } = await ranOnce({ stateDir, agent: failing });
    expect(result).toMatchObject({ success: false, status: "failed", error: "no answer" });
    expect(lines).toContain("Completed reader/news: failed");
    const { store } = await ranOnce({ stateDir, agent: failing });
    expect(await store.read(KEY)).toMatchObject({
      last_error: "no answer",
      failure_count: 2,
      next_run_at: "2026-03-01T00:20:00.000Z",
    });
    const attempts = (await store.jobs.list()).map(({ attempt }) => attempt);
    expect(attempts.toSorted((a, b) => a - b)).toEqual([1, 2]);
    await store.close();
  });

  it("runs nothing without a work item, and plans the next run", async () => {
    const workSourceManager: WorkSources = {
      getNextWorkItem: async () => ({ item: undefined }),
      reportOutcome: async () => {},
    };
    const { result, store } = await ranOnce({
      workSourceManager,
      schedule: { ...schedule, work_source: { type: "list" } },
    });
    expect(result).toMatchObject({
      success: true,
      skipped: true,
      skipReason: "no_work",
      processedWorkItem: false,
    });
    expect(await store.jobs.list()).toEqual([]);
    expect((await store.read(KEY)).next_run_at).toBe("2026-03-01T00:05:00.000Z");
    await store.close();
  });

  it("returns the error of an executor as text, and plans the next run", async () => {
    const jobExecutor = {
      execute: () => ({ success: false, error: new Error("no answer"), summary: 7 as never }),
    };
    const { result, store } = await ranOnce({ jobExecutor });
    expect(result).toMatchObject({ success: false, error: "no answer" });
    expect(await store.read(KEY)).toMatchObject({
      status: "idle",
      last_error: "no answer",
      failure_count: 1,
    });
    await store.close();
  });

  it("returns the item that it worked on", async () => {
    const outcomes: string[] = [];
    const workSourceManager: WorkSources = {
      getNextWorkItem: async () => ({ item: workItem() }),
      reportOutcome: async (id, { outcome }) => void outcomes.push(`${id} ${outcome}`),
    };
    const { result, store } = await ranOnce({
      workSourceManager,
      schedule: { ...schedule, work_source: { type: "list" } },
    });
    expect(result).toMatchObject({ processedWorkItem: true, workItem: { id: "list:7" } });
    expect(outcomes).toEqual(["list:7 success"]);
    expect((await store.jobs.list())[0]).toMatchObject({ work_item: { id: "list:7" } });
    await store.close();
  });

  it("cancels its job when it is cancelled", async () => {
    const canceller = new AbortController();
    const waiting: Agent = {
      name: "reader",
      run: ({ signal }) =>
        new Promise((_, reject) => {
          signal.addEventListener("abort", () => reject(signal.reason));
          canceller.abort(new Error("not today"));
        }),
    };
    const { result, store } = await ranOnce({ agent: waiting, signal: canceller.signal });
    expect(result).toMatchObject({ success: false, status: "cancelled", error: "not today" });
    expect(await store.read(KEY)).toMatchObject({
      status: "idle",
      next_run_at: "2026-03-01T00:05:00.000Z",
    });
    await store.close();
  });

  it("cancels its job when its item may have been claimed again", async () => {
    const clock = new FakeClock("2026-03-01T00:00:00Z");
    const workSourceManager: WorkSources = {
      getNextWorkItem: async () => ({ item: workItem(), renewEveryMs: 60_000 }),
      reportOutcome: async () => {},
      renewWorkItem: async () => false,
    };
    const waiting: Agent = {
      name: "reader",
      run: ({ signal }) => {
        void clock.advance("1m");
        return clock.sleep("1h", signal);
      },
    };
    const { result, store } = await ranOnce({
      agent: waiting,
      clock,
      workSourceManager,
      schedule: { ...schedule, work_source: { type: "list" } },
    });
    expect(result).toMatchObject({ success: false, status: "cancelled", durationMs: 60_000 });
    await store.close();
  });

  it("keeps a schedule disabled that was disabled while it ran", async () => {
    const stateDir = stateDirectory();
    const disabling: Agent = {
      name: "reader",
      run: async () => {
        await using store = new FileStore({ stateDir });
        await store.update(KEY, { status: "disabled" });
      },
    };
    const { store } = await ranOnce({ stateDir, agent: disabling });
    expect((await store.read(KEY)).status).toBe("disabled");
    await store.close();
  });

  it("returns a failure when the executor throws", async () => {
    const execute = (): never => {
      throw new Error("boom");
    };
    const { result, store } = await ranOnce({ jobExecutor: { execute } });
    expect(result).toEqual({ success: false, status: "failed", error: "boom", processedWorkItem: false });
    expect(await store.read(KEY)).toMatchObject({ status: "idle", last_error: "boom" });
    await store.close();
  });
});
