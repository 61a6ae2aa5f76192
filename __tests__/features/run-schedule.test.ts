/** `runSchedule` and the host's own executor and work sources, as the documents of `rota/scheduler` use them. */
import { describe, expect, it } from "vitest";
import { FakeClock, MemoryStore, type WorkItem, type WorkOutcome } from "rota";
import {
  buildSchedulePrompt,
  getScheduleState,
  runSchedule,
  type RunScheduleOptions,
  type ScheduleRunResult,
  Scheduler,
  type SchedulerLogger,
  type SchedulerOptions,
} from "rota/scheduler";
import { stateDirectory } from "../state/temporary-directory.js";

const logger: SchedulerLogger = { info: () => {}, warn: () => {}, error: () => {}, debug: () => {} };
const interval = { type: "interval", interval: "1h", prompt: "Check for ready issues." } as const;

/** A manager of the host's own, with one item. */
function oneItem(): {
  readonly item: WorkItem;
  readonly outcomes: WorkOutcome[];
  readonly workSourceManager: NonNullable<SchedulerOptions["workSourceManager"]>;
} {
  // Less than a whole item, as a manager without types may return it.
  const item = {
    id: "7",
    title: "Fix it",
    description: "It is broken.",
    url: "https://example.org/7",
  } as WorkItem;
  const waiting = [item];
  const outcomes: WorkOutcome[] = [];
  const workSourceManager = {
    getNextWorkItem: async () => ({ item: waiting.shift() ?? null }),
    reportOutcome: async (id: string, outcome: WorkOutcome) => void (id === "7" && outcomes.push(outcome)),
  };
  return { item, outcomes, workSourceManager };
}

describe("runSchedule", () => {
  const agent = { name: "my-agent", schedules: { "check-issues": interval } };
  const schedule = { ...interval, work_source: { type: "memory" } } as const;

  it("runs a schedule by an executor, and returns its result", async () => {
    const result: ScheduleRunResult = await runSchedule({
      agent,
      schedule: interval,
      scheduleName: "check-issues",
      stateDir: stateDirectory(),
      jobExecutor: { execute: async ({ prompt }) => ({ success: true, summary: prompt }) },
      logger,
    });
    expect(result).toMatchObject({ success: true, summary: interval.prompt, processedWorkItem: false });
  });

  it("runs a schedule by an agent SDK", async () => {
    const prompts: string[] = [];
    const stateDir = stateDirectory();
    const result = await runSchedule({
      agent,
      schedule: interval,
      scheduleName: "check-issues",
      stateDir,
      sdkQuery: async function* ({ prompt }) {
        prompts.push(prompt);
        yield { type: "result", subtype: "success", result: "All is read." };
      },
      logger,
    });
    expect(prompts).toEqual([interval.prompt]);
    expect(result).toMatchObject({ success: true, summary: "All is read." });
    expect(await getScheduleState(stateDir, "my-agent", "check-issues")).toMatchObject({
      status: "idle",
      last_run_at: expect.any(String) as string,
      next_run_at: expect.any(String) as string,
    });
  });

  it("fetches a work item first, puts it into the prompt, and reports a failure with its error", async () => {
    const { item, outcomes, workSourceManager } = oneItem();
    const seen: unknown[] = [];
    const options: RunScheduleOptions = {
      agent,
      schedule,
      scheduleName: "check-issues",
      stateDir: stateDirectory(),
      workSourceManager,
      jobExecutor: {
        execute: async ({ prompt, triggerType, schedule: name }) => {
          seen.push([prompt, triggerType, name]);
          return { success: false, summary: "Half done", error: new Error("no luck") };
        },
      },
      logger,
    };
    const result = await runSchedule(options);
    expect(seen).toEqual([[buildSchedulePrompt(schedule, item), "interval", "check-issues"]]);
    expect(result).toMatchObject({
      success: false,
      processedWorkItem: true,
      workItem: item,
      error: "no luck",
    });
    expect(outcomes).toMatchObject([{ outcome: "failure", summary: "Half done", error: "no luck" }]);
    expect(await runSchedule(options)).toMatchObject({ success: true, skipped: true, skipReason: "no_work" });
    expect(seen).toHaveLength(1);
  });

  it("builds the prompt of a schedule, or a default one, with the work item", () => {
    const { item } = oneItem();
    expect([buildSchedulePrompt(interval), buildSchedulePrompt({})]).toEqual([
      "Check for ready issues.",
      "Execute scheduled task",
    ]);
    expect(buildSchedulePrompt(interval, item)).toBe(
      "Check for ready issues.\n\n# Fix it\n\nIt is broken.\n\nId: 7\nURL: https://example.org/7",
    );
  });
});

describe("a scheduler with the host's executor and work sources", () => {
  it("runs one job on the item, reports its outcome, and then skips with no_work", async () => {
    const clock = new FakeClock();
    const { outcomes, workSourceManager } = oneItem();
    const executed: unknown[] = [];
    const skips: unknown[] = [];
    await using scheduler = new Scheduler({
      store: new MemoryStore(),
      clock,
      logger,
      workSourceManager,
      jobExecutor: {
        execute: ({ agent, prompt, triggerType, schedule }) => {
          executed.push([agent.name, prompt.split("\n")[0], triggerType, schedule]);
          return { success: true, summary: "Fixed." };
        },
      },
    });
    scheduler.on("schedule:skipped", ({ reason }) => void skips.push(reason));
    const schedule = { ...interval, work_source: { type: "memory" } } as const;
    await scheduler.start([{ name: "my-agent", schedules: { "check-issues": schedule } }]);
    await clock.advance("1h");
    expect(executed).toEqual([["my-agent", interval.prompt, "interval", "check-issues"]]);
    expect(outcomes).toMatchObject([{ outcome: "success", summary: "Fixed." }]);
    expect(skips).toEqual(["no_work"]);
  });
});
