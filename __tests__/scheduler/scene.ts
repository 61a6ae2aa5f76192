/** A scheduler on a clock that the test moves, and what was heard and seen of it. */
import { onTestFinished } from "vitest";
import {
  type Agent,
  type AgentSchedule,
  FakeClock,
  type JobRecord,
  MemoryStore,
  Scheduler,
  type SchedulerOptions,
  type ScheduleState,
  type ScheduleStatus,
  type StateStore,
  type TriggerInfo,
} from "../../src/index.js";

export const START = "2026-03-01T00:00:00.000Z";

type More<Type extends AgentSchedule["type"]> = Partial<Extract<AgentSchedule, { type: Type }>>;

export const every = (interval: string, more: More<"interval"> = {}): AgentSchedule => ({
  type: "interval",
  interval,
  ...more,
});
export const cron = (expression: string, more: object = {}): AgentSchedule => ({
  type: "cron",
  expression,
  timezone: "UTC",
  ...more,
});
export const once = (at: string, more: More<"once"> = {}): AgentSchedule => ({ type: "once", at, ...more });

/** An agent with these schedules; `capacity` is how many jobs it may have. */
export const agent = (name: string, schedules: Record<string, AgentSchedule>, capacity = 1): Agent => ({
  name,
  schedules,
  instances: { max_concurrent: capacity },
});

/** The time of day as short as it can be said, or all of it on another day than the first. */
export function shortTime(at: Date | string | null | undefined): string {
  if (at == null) return "never";
  const iso = new Date(at).toISOString();
  const time = iso.slice(11, -1).replace(/(:00)?\.000$/, "");
  return iso.startsWith(START.slice(0, 10)) ? time : `${iso.slice(0, 10)} ${time}`;
}

export interface SceneOptions extends Omit<SchedulerOptions, "store" | "clock" | "onTrigger"> {
  readonly store?: StateStore;
  readonly clock?: FakeClock;
  /** What a job does. */
  readonly work?: (info: TriggerInfo) => unknown;
}

export interface Scene {
  readonly clock: FakeClock;
  readonly store: StateStore;
  readonly scheduler: Scheduler;
  /** The jobs that were started: "00:05 a/x". */
  readonly runs: string[];
  /** Their records as they started. */
  readonly jobs: JobRecord[];
  /** The records of those that have ended. */
  readonly ended: JobRecord[];
  /** "skipped a/x at_capacity 00:05", "missed a/x 00:05", "planned a/x 00:10 baseline-interval". */
  readonly events: string[];
  readonly errors: string[];
  readonly warnings: string[];
  readonly state: (agent: string, schedule: string) => Promise<ScheduleState>;
  readonly status: (agent: string, schedule: string) => Promise<ScheduleStatus>;
  /** The plan of a schedule as "00:10 baseline-interval". */
  readonly plan: (agent: string, schedule: string) => Promise<string>;
  /** Another scheduler on the same store and clock, which this one must have left. */
  readonly again: (options?: SceneOptions) => Scene;
}

/** It is stopped when the test ends. */
export function scene(options: SceneOptions = {}): Scene {
  const { store = new MemoryStore(), clock = new FakeClock(START), work = () => {}, ...rest } = options;
  const runs: string[] = [];
  const jobs: JobRecord[] = [];
  const ended: JobRecord[] = [];
  const events: string[] = [];
  const errors: string[] = [];
  const warnings: string[] = [];
  const logger = {
    info: () => {},
    warn: (message: string) => void warnings.push(message),
    error: (message: string) => void errors.push(message),
  };
  const scheduler = new Scheduler({
    logger,
    ...rest,
    store,
    clock,
    onTrigger: (info) => {
      runs.push(`${shortTime(clock.now())} ${info.agent.name}/${info.scheduleName}`);
      jobs.push(info.job);
      return work(info);
    },
  });
  scheduler
    .on("schedule:skipped", ({ agent: name, schedule, reason, slot }) =>
      events.push(`skipped ${name}/${schedule} ${reason} ${shortTime(slot)}`),
    )
    .on("schedule:missed", ({ agent: name, schedule, slot }) =>
      events.push(`missed ${name}/${schedule} ${shortTime(slot)}`),
    )
    .on("schedule:planned", ({ agent: name, schedule, nextRunAt, source = "none" }) =>
      events.push(`planned ${name}/${schedule} ${shortTime(nextRunAt)} ${source}`),
    )
    .on("job:finished", ({ job }) => ended.push(job));
  onTestFinished(() => scheduler.stop({ waitForJobs: false }));
  return {
    clock,
    store,
    scheduler,
    runs,
    jobs,
    ended,
    events,
    errors,
    warnings,
    state: (name, schedule) => store.read({ agent: name, schedule }),
    status: async (name, schedule) => {
      const found = (await scheduler.getSchedules(name)).find((status) => status.schedule === schedule);
      if (found === undefined) throw new Error(`There is no ${name}/${schedule}.`);
      return found;
    },
    plan: async (name, schedule) => {
      const { next_run_at, next_run_source } = await store.read({ agent: name, schedule });
      return `${shortTime(next_run_at)} ${next_run_source ?? "none"}`;
    },
    again: (more = {}) => scene({ ...options, ...more, store, clock }),
  };
}

export interface Gate {
  readonly pass: () => Promise<void>;
  readonly open: () => void;
  /** Resolves when somebody stands before it. */
  readonly reached: Promise<void>;
}

/** A door that stays shut until it is opened. */
export function gate(): Gate {
  let arrive = (): void => {};
  let open = (): void => {};
  const reached = new Promise<void>((resolve) => {
    arrive = resolve;
  });
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return {
    pass: () => {
      arrive();
      return opened;
    },
    open: () => open(),
    reached,
  };
}
