/** The API of `rota/scheduler` as its documents use it: each test is a program that a reader pastes. */
import { describe, expect, it } from "vitest";
import { FakeClock, MemoryStore, readFleetState } from "rota";
import { parseConfig } from "rota/config";
import {
  type AgentScheduleInfo,
  calculateNextTrigger,
  getAgentScheduleStates,
  getScheduleState,
  IntervalParseError,
  isScheduleDue,
  parseInterval,
  type PersistedScheduleState,
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
  type ScheduleStatus,
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
  PersistedScheduleState,
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
  ScheduleStatus,
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

describe("a stop with a timeout", () => {
  it("throws the documented error when a job is still running then, and stops all the same", async () => {
    const clock = new FakeClock();
    const onTrigger = (): Promise<void> => clock.sleep("1m");
    const scheduler = new Scheduler({ store: new MemoryStore(), clock, logger, onTrigger });
    await scheduler.start([{ name: "my-agent", schedules: { "check-issues": interval } }]);
    await clock.advance("1s");
    expect([scheduler.getRunningJobCount("my-agent"), scheduler.getTotalRunningJobCount()]).toEqual([1, 1]);
    const stopped = scheduler.stop({ waitForJobs: true, timeout: 100 }).catch((error: unknown) => error);
    await clock.advance(100);
    const error = await stopped;
    expect(error).toBeInstanceOf(SchedulerShutdownError);
    expect(error).toMatchObject({ context: { timedOut: true, runningJobCount: 1 } });
    expect((error as Error).message).toMatch(/timed out after 100 ?ms with 1 job\(s\) still running/);
    expect(scheduler.getStatus()).toBe("stopped");
  });
});

describe("a manual trigger", () => {
  const agents = [
    { name: "my-agent", schedules: { first: { type: "webhook" }, second: { type: "webhook" } } },
  ] as const;

  it("runs the named schedule or the first, and returns the id or what was wrong", async () => {
    const clock = new FakeClock();
    const triggered: string[] = [];
    const onTrigger = async ({ scheduleName }: TriggerInfo): Promise<void> => {
      triggered.push(scheduleName);
      await clock.sleep("1m");
    };
    await using scheduler = new Scheduler({ store: new MemoryStore(), clock, logger, onTrigger });
    await scheduler.start(agents);
    const result: TriggerResult = await scheduler.trigger("my-agent");
    expect(result).toEqual({ success: true, jobId: expect.stringMatching(/^job-/) as string });
    await clock.advance(0);
    expect(await scheduler.trigger("my-agent", "second")).toEqual({
      success: false,
      skipped: true,
      skipReason: "at_capacity",
    });
    await clock.advance("1m");
    await scheduler.trigger("my-agent", "second");
    await clock.advance("1m");
    expect(triggered).toEqual(["first", "second"]);
    expect(await scheduler.trigger("someone")).toMatchObject({
      success: false,
      error: expect.any(String) as string,
    });
  });

  it("leaves a status of each schedule: agent, schedule, times, status and last error", async () => {
    const clock = new FakeClock("2026-03-01T00:00:00Z");
    const onTrigger = (): Promise<never> => Promise.reject(new Error("no luck"));
    await using scheduler = new Scheduler({ store: new MemoryStore(), clock, logger, onTrigger });
    await scheduler.start([{ name: "my-agent", schedules: { "check-issues": interval } }]);
    await clock.advance("1s");
    const [status] = await scheduler.getSchedules();
    const expected: Partial<ScheduleStatus> = {
      agent: "my-agent",
      schedule: "check-issues",
      lastRunAt: new Date("2026-03-01T00:00:00Z"),
      nextRunAt: new Date("2026-03-01T02:00:00Z"),
      status: "idle",
      lastError: "no luck",
    };
    expect(status).toMatchObject(expected);
  });
});

describe("schedules in a file", () => {
  it("are intervals and cron expressions under their names, with a prompt", () => {
    const { agents } = parseConfig(`
agents:
  - name: my-agent
    schedules:
      look:
        type: interval
        interval: 5m
        prompt: "Look for new work."
      report:
        type: cron
        expression: "0 9 * * 1-5"
        prompt: "Write the report of the day."
`);
    expect(agents[0]?.schedules).toEqual({
      look: { type: "interval", interval: "5m", prompt: "Look for new work." },
      report: { type: "cron", expression: "0 9 * * 1-5", prompt: "Write the report of the day." },
    });
  });
});

describe("intervals", () => {
  it("are parsed, and refused with the documented messages", () => {
    expect(["30s", "5m", "1h", "1d"].map(parseInterval)).toEqual([30_000, 300_000, 3_600_000, 86_400_000]);
    expect(["5s", "10m", "2d"].map(parseInterval)).toEqual([5_000, 600_000, 172_800_000]);
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
    const now = new Date("2025-01-19T10:01:00Z");
    expect(calculateNextTrigger(new Date("2025-01-19T10:00:00Z"), "5m", 0, { now })).toEqual(
      new Date("2025-01-19T10:05:00Z"),
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
    expect([isScheduleDue(new Date(0)), isScheduleDue(new Date(Date.now() + 60_000))]).toEqual([true, false]);
  });
});

describe("the state functions", () => {
  it("read, change and list the states of an agent", async () => {
    const stateDir = stateDirectory();
    expect(await getScheduleState(stateDir, "my-agent", "check-issues")).toMatchObject({ status: "idle" });
    const last_run_at = new Date().toISOString();
    await updateScheduleState(stateDir, "my-agent", "check-issues", { status: "running", last_run_at });
    const updates: ScheduleStateUpdates = { status: "disabled", last_error: "no luck" };
    await updateScheduleState(stateDir, "my-agent", "daily-report", updates);
    const { agents } = await readFleetState(`${stateDir}/state.yaml`);
    expect(agents["my-agent"]?.schedules?.["daily-report"]).toMatchObject(updates);
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

describe("the errors", () => {
  it("are made with a message and what they are about", () => {
    const trigger = new ScheduleTriggerError("m", { agent: "a", schedule: "s" });
    const shutdown = new SchedulerShutdownError("m", { timedOut: true, runningJobCount: 2 });
    const parse = new IntervalParseError("m", "5x");
    const cause = new Error("why");
    expect(new SchedulerError("m", cause)).toMatchObject({ message: "m", cause });
    for (const error of [new SchedulerError("m"), trigger, shutdown, parse]) {
      expect(error).toBeInstanceOf(SchedulerError);
      expect(error.message).toBe("m");
    }
    expect([parse.interval, trigger.context.agent, shutdown.context.runningJobCount]).toEqual(["5x", "a", 2]);
    const names: keyof Listed = "length";
    expect(names).toBe("length");
  });
});
