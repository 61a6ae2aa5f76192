/** The API of `rota/scheduler` as its documents use it: each test is a program that a reader pastes. */
import { describe, expect, it } from "vitest";
import {
  type AgentScheduleInfo,
  buildSchedulePrompt,
  calculateNextTrigger,
  getAgentScheduleStates,
  getScheduleState,
  IntervalParseError,
  isScheduleDue,
  parseInterval,
  runSchedule,
  type RunScheduleOptions,
  type ScheduleCheckResult,
  type ScheduleRunnerLogger,
  type ScheduleRunResult,
  Scheduler,
  SchedulerError,
  type SchedulerLogger,
  type SchedulerOptions,
  SchedulerShutdownError,
  type SchedulerState,
  type SchedulerStatus,
  type SchedulerTriggerCallback,
  type ScheduleSkipReason,
  type ScheduleStateLogger,
  type ScheduleStateOptions,
  type ScheduleStateUpdates,
  ScheduleTriggerError,
  type StopOptions,
  type TriggerInfo,
  type TriggerMetadata,
  type TriggerResult,
  updateScheduleState,
} from "rota/scheduler";
import { thrownBy } from "../thrown-by.js";
import { stateDirectory } from "../state/temporary-directory.js";

/** Every type that the documents list can be imported by its name. */
type Listed = [
  AgentScheduleInfo,
  RunScheduleOptions,
  ScheduleCheckResult,
  ScheduleRunnerLogger,
  ScheduleRunResult,
  SchedulerOptions,
  SchedulerState,
  SchedulerStatus,
  SchedulerTriggerCallback,
  ScheduleSkipReason,
  ScheduleStateLogger,
  ScheduleStateOptions,
  ScheduleStateUpdates,
  StopOptions,
  TriggerMetadata,
  TriggerResult,
];

const logger: SchedulerLogger = { info: () => {}, warn: () => {}, error: () => {}, debug: () => {} };
const interval = { type: "interval", interval: "1h", prompt: "Check for ready issues." } as const;

describe("the Scheduler", () => {
  it("is made, started, asked, given new agents and stopped", async () => {
    const triggered: TriggerInfo[] = [];
    let arrive = (): void => {};
    const arrived = new Promise<void>((resolve) => {
      arrive = resolve;
    });
    const scheduler = new Scheduler({
      checkInterval: 1000,
      stateDir: stateDirectory(),
      logger,
      onTrigger: async (info) => {
        triggered.push(info);
        arrive();
      },
    });
    await scheduler.start([
      { name: "my-agent", schedules: { "check-issues": interval, hook: { type: "webhook" } } },
    ]);
    expect([scheduler.isRunning(), scheduler.getStatus()]).toEqual([true, "running"]);
    await arrived;
    expect(scheduler.getState()).toMatchObject({ status: "running", startedAt: expect.any(Date) as Date });
    expect(scheduler.getRunningJobCount("my-agent")).toBeLessThanOrEqual(1);
    expect(scheduler.getTotalRunningJobCount()).toBeLessThanOrEqual(1);
    scheduler.setAgents([]);
    await scheduler.stop({ waitForJobs: true, timeout: 30_000 });
    expect([scheduler.isRunning(), scheduler.getStatus()]).toEqual([false, "stopped"]);
    expect(triggered.map(({ agent, scheduleName }) => [agent.name, scheduleName])).toEqual([
      ["my-agent", "check-issues"],
    ]);
  });
});

describe("intervals", () => {
  it("are parsed, and refused with the documented messages", () => {
    expect(["30s", "5m", "1h", "1d"].map(parseInterval)).toEqual([30_000, 300_000, 3_600_000, 86_400_000]);
    expect(thrownBy(() => parseInterval("5"))).toMatchObject({
      message: 'Missing time unit. Expected format: "{number}{unit}"',
    });
    expect(thrownBy(() => parseInterval("5.5m"))).toMatchObject({
      message: "Decimal values are not supported",
    });
    expect(thrownBy(() => parseInterval("0m"))).toMatchObject({ message: "Zero interval is not allowed" });
    expect(thrownBy(() => parseInterval("-5m"))).toMatchObject({
      message: "Negative intervals are not allowed",
    });
    expect(thrownBy(() => parseInterval("5x"))).toMatchObject({
      message: 'Invalid time unit "x". Valid units are: s, m, h, d',
    });
  });

  it("give the next trigger: now at first, later the last completion and the interval, never the past", () => {
    const before = Date.now();
    expect(calculateNextTrigger(null, "5m").getTime()).toBeGreaterThanOrEqual(before);
    expect(calculateNextTrigger(new Date("2025-01-19T10:00:00Z"), "5m").getTime()).toBeGreaterThanOrEqual(
      before,
    );
    const last = new Date();
    expect(calculateNextTrigger(last, "5m")).toEqual(new Date(last.getTime() + 300_000));
    const waited = calculateNextTrigger(last, "1h", 5).getTime() - last.getTime();
    expect(waited).toBeGreaterThanOrEqual(3_600_000);
    expect(waited).toBeLessThanOrEqual(3_780_000);
    expect([isScheduleDue(last, last), isScheduleDue(new Date(last.getTime() + 1), last)]).toEqual([
      true,
      false,
    ]);
  });
});

describe("the state functions", () => {
  it("read, change and list the states of an agent", async () => {
    const stateDir = stateDirectory();
    expect(await getScheduleState(stateDir, "my-agent", "check-issues")).toMatchObject({ status: "idle" });
    const last_run_at = new Date().toISOString();
    await updateScheduleState(stateDir, "my-agent", "check-issues", { status: "running", last_run_at });
    await updateScheduleState(stateDir, "my-agent", "daily-report", { status: "disabled" });
    expect(await getScheduleState(stateDir, "my-agent", "check-issues")).toMatchObject({
      status: "running",
      last_run_at,
    });
    expect(Object.keys(await getAgentScheduleStates(stateDir, "my-agent"))).toEqual([
      "check-issues",
      "daily-report",
    ]);
  });
});

describe("runSchedule", () => {
  it("runs a schedule by an executor, and returns its result", async () => {
    const result = await runSchedule({
      agent: { name: "my-agent", schedules: { "check-issues": interval } },
      schedule: interval,
      scheduleName: "check-issues",
      stateDir: stateDirectory(),
      jobExecutor: { execute: async ({ prompt }) => ({ success: true, summary: prompt }) },
      logger,
    });
    expect(result).toMatchObject({ success: true, summary: interval.prompt, processedWorkItem: false });
  });

  it("builds the prompt of a schedule, or a default one", () => {
    expect([buildSchedulePrompt(interval), buildSchedulePrompt({})]).toEqual([
      "Check for ready issues.",
      "Execute scheduled task",
    ]);
  });
});

describe("the errors", () => {
  it("are made with a message and what they are about", () => {
    const trigger = new ScheduleTriggerError("m", { agent: "a", schedule: "s" });
    const shutdown = new SchedulerShutdownError("m", { timedOut: true, runningJobCount: 2 });
    const parse = new IntervalParseError("m", "5x");
    for (const error of [new SchedulerError("m"), trigger, shutdown, parse]) {
      expect(error).toBeInstanceOf(SchedulerError);
      expect(error.message).toBe("m");
    }
    expect([parse.interval, trigger.context.agent, shutdown.context.runningJobCount]).toEqual(["5x", "a", 2]);
    const names: keyof Listed = "length";
    expect(names).toBe("length");
  });
});
