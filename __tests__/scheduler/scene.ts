/** A scheduler on a clock that the test moves, and what was heard and seen of it. */
import { onTestFinished } from "vitest";
import {
  type Agent,
  type AgentSchedule,
  FakeClock,
  type JobRecord,
  type Logger,
  MemoryStore,
  Scheduler,
  type SchedulerOptions,
  type ScheduleState,
  type ScheduleStatus,
  type StateStore,
  type TriggerInfo,
} from "../../src/index.js";
import { GatedStore } from "./gated-store.js";

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

/** The schedules of an agent that needs one, whichever. */
export const HOURLY: Readonly<Record<string, AgentSchedule>> = { work: every("1h") };

export interface AgentParts {
  /** How many jobs it may have at once. */
  readonly capacity?: number | undefined;
  /** What its jobs do, unless the scene has `work` for all. */
  readonly run?: Agent["run"];
}

export const agent = (
  name: string,
  schedules: Readonly<Record<string, AgentSchedule>> = HOURLY,
  { capacity = 1, run = () => {} }: AgentParts = {},
): Agent => ({ name, schedules, instances: { max_concurrent: capacity }, run });

/** The time of day in its shortest form; with the date, if that is not the first day's. */
export function shortTime(at: Date | string | null | undefined): string {
  if (at == null) return "never";
  const iso = new Date(at).toISOString();
  const time = iso.slice(11, -1).replace(/(:00)?\.000$/, "");
  return iso.startsWith(START.slice(0, 10)) ? time : `${iso.slice(0, 10)} ${time}`;
}

export interface SceneOptions extends Omit<SchedulerOptions, "store" | "clock"> {
  readonly store?: StateStore;
  readonly clock?: FakeClock;
  /** What each job does, instead of its agent's `run`. */
  readonly work?: (info: TriggerInfo) => unknown;
}

export interface Scene<Store extends StateStore = StateStore> {
  readonly clock: FakeClock;
  readonly store: Store;
  readonly scheduler: Scheduler;
  /** The jobs that were started: "00:05 a/x". */
  readonly runs: string[];
  /** The same without their schedules: "a 00:05". */
  readonly starts: string[];
  /** The jobs' records as they started. */
  readonly jobs: JobRecord[];
  /** The records of the jobs that have ended. */
  readonly ended: JobRecord[];
  /** "skipped a/x at_capacity 00:05", "missed a/x 00:05 to 00:10 (2)", "planned a/x 00:10 baseline-interval". */
  readonly events: string[];
  /** The messages of `scheduler:error`. */
  readonly troubles: string[];
  /** What was logged, as "level: message", and the messages of two levels. */
  readonly lines: string[];
  readonly errors: string[];
  readonly warnings: string[];
  readonly state: (agent: string, schedule: string) => Promise<ScheduleState>;
  readonly status: (agent: string, schedule: string) => Promise<ScheduleStatus>;
  /** The plan of a schedule as "00:10 baseline-interval". */
  readonly plan: (agent: string, schedule: string) => Promise<string>;
  /** Lets everything happen that needs no time to pass. */
  readonly settle: () => Promise<void>;
  /** A second scheduler on the same store and clock, to be made when the first has stopped. */
  readonly again: (options?: SceneOptions) => Scene<Store>;
}

export type GatedScene = Scene<GatedStore>;

/** A scene whose store can hold calls back and make them fail. */
export function gatedScene(
  options: Omit<SceneOptions, "store"> & { readonly leaseMs?: number; readonly isShared?: boolean } = {},
): GatedScene {
  const { leaseMs, isShared, ...rest } = options;
  const store = new GatedStore({ leaseMs, ...(isShared === undefined ? {} : { isShared }) });
  return scene({ ...rest, store });
}

/** On a store in memory, unless one is given. Scheduler and store are closed when the test ends. */
export function scene<Store extends StateStore = StateStore>(
  options: SceneOptions & { readonly store: Store },
): Scene<Store>;
export function scene(options?: SceneOptions): Scene;
export function scene(options: SceneOptions = {}): Scene {
  const { store = new MemoryStore(), clock = new FakeClock(START), work, ...rest } = options;
  const runs: string[] = [];
  const starts: string[] = [];
  const jobs: JobRecord[] = [];
  const ended: JobRecord[] = [];
  const events: string[] = [];
  const troubles: string[] = [];
  const { logger, lines, errors, warnings } = keepingLogger();
  const scheduler = new Scheduler({
    logger,
    ...(work === undefined ? {} : { onTrigger: work }),
    ...rest,
    store,
    clock,
  });
  scheduler
    .on("schedule:skipped", ({ agent: name, schedule, reason, slot, ...more }) =>
      events.push(`skipped ${name}/${schedule} ${reason} ${shortTime(slot)}${several(more)}`),
    )
    .on("schedule:missed", ({ agent: name, schedule, slot, ...more }) =>
      events.push(`missed ${name}/${schedule} ${shortTime(slot)}${several(more)}`),
    )
    .on("schedule:planned", ({ agent: name, schedule, nextRunAt, source = "none" }) =>
      events.push(`planned ${name}/${schedule} ${shortTime(nextRunAt)} ${source}`),
    )
    .on("job:started", ({ job }) => {
      runs.push(`${shortTime(clock.now())} ${job.agent}/${job.schedule}`);
      starts.push(`${job.agent} ${clock.time()}`);
      jobs.push(job);
    })
    .on("job:finished", ({ job }) => ended.push(job))
    .on("scheduler:error", ({ error }) => troubles.push(error.message));
  onTestFinished(async () => {
    if (store instanceof GatedStore) store.openGates();
    await scheduler.stop({ waitForJobs: false });
    // A job that still sleeps on the clock keeps the scheduler from closing it.
    await store.close();
  });
  return {
    clock,
    store,
    scheduler,
    runs,
    starts,
    jobs,
    ended,
    events,
    troubles,
    lines,
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
    settle: () => clock.advance(0),
    again: (more = {}) => scene({ ...options, ...more, store, clock }),
  };
}

export interface KeptLog {
  readonly logger: Required<Logger>;
  readonly lines: string[];
  readonly errors: string[];
  readonly warnings: string[];
}

export function keepingLogger(): KeptLog {
  const lines: string[] = [];
  const errors: string[] = [];
  const warnings: string[] = [];
  const keep =
    (level: keyof Logger, messages: string[] = []) =>
    (message: string): void => {
      messages.push(message);
      lines.push(`${level}: ${message}`);
    };
  const logger = {
    debug: keep("debug"),
    info: keep("info"),
    warn: keep("warn", warnings),
    error: keep("error", errors),
  };
  return { logger, lines, errors, warnings };
}

export interface Gate {
  readonly pass: () => Promise<void>;
  readonly open: () => void;
  /** Resolves when a caller waits at the gate. */
  readonly reached: Promise<void>;
}

/** Holds callers back until it is opened. */
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

function several({
  lastSlot,
  count = 1,
}: {
  lastSlot?: Date | undefined;
  count?: number | undefined;
}): string {
  return count === 1 ? "" : ` to ${shortTime(lastSlot)} (${count})`;
}
