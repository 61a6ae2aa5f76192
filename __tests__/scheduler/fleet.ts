/** Agents, and a scheduler for them on virtual time that keeps what it is told. It is stopped when its test ends. */
import { onTestFinished } from "vitest";
import {
  type Agent,
  type AgentSchedule,
  FakeClock,
  type Logger,
  Scheduler,
  type SchedulerOptions,
} from "../../src/index.js";
import { GatedStore } from "./gated-store.js";

export const MIDNIGHT = "2026-03-01T00:00:00.000Z";

export interface AgentParts {
  /** The interval of its schedule "work". */
  readonly every?: string;
  /** The cron expression, in UTC, of its schedule "work". */
  readonly cron?: string;
  /** In the place of "work". */
  readonly schedules?: Readonly<Record<string, AgentSchedule>>;
  readonly max?: number;
  readonly run?: Agent["run"];
}

export const every = (interval: string): AgentSchedule => ({ type: "interval", interval });
export const cron = (expression: string): AgentSchedule => ({ type: "cron", expression, timezone: "UTC" });

export function agent(name: string, parts: AgentParts = {}): Agent {
  const work = parts.cron === undefined ? every(parts.every ?? "1h") : cron(parts.cron);
  return {
    name,
    schedules: parts.schedules ?? { work },
    run: parts.run ?? (() => {}),
    ...(parts.max === undefined ? {} : { instances: { max_concurrent: parts.max } }),
  };
}

export interface Fleet {
  readonly clock: FakeClock;
  readonly store: GatedStore;
  readonly scheduler: Scheduler;
  /** Each job started, as "agent time". */
  readonly starts: string[];
  /** What `scheduler:error` told. */
  readonly errors: string[];
  /** What the log was told, as "level: message". */
  readonly lines: string[];
  /** Lets everything happen that needs no time to pass. */
  readonly settle: () => Promise<void>;
}

export function fleet(
  options: SchedulerOptions & { readonly leaseMs?: number; readonly isShared?: boolean } = {},
): Fleet {
  const { leaseMs, isShared, ...rest } = options;
  const clock = new FakeClock(MIDNIGHT);
  const store = new GatedStore({ leaseMs, ...(isShared === undefined ? {} : { isShared }) });
  const { logger, lines } = keepingLogger();
  const scheduler = new Scheduler({ store, clock, logger, ...rest });
  const starts: string[] = [];
  const errors: string[] = [];
  scheduler.on("job:started", ({ job }) => starts.push(`${job.agent} ${clock.time()}`));
  scheduler.on("scheduler:error", ({ error }) => errors.push(error.message));
  onTestFinished(async () => {
    store.openGates();
    await scheduler.stop({ waitForJobs: false });
  });
  return { clock, store, scheduler, starts, errors, lines, settle: () => clock.advance(0) };
}

export function keepingLogger(): { logger: Required<Logger>; lines: string[] } {
  const lines: string[] = [];
  const keep =
    (level: keyof Logger) =>
    (message: string): void => {
      lines.push(`${level}: ${message}`);
    };
  return {
    logger: { debug: keep("debug"), info: keep("info"), warn: keep("warn"), error: keep("error") },
    lines,
  };
}

export interface Watched {
  state: "pending" | "fulfilled" | "rejected";
  error?: unknown;
}

/** What has become of a promise so far. */
export function watch(promise: Promise<unknown>): Watched {
  const watched: Watched = { state: "pending" };
  void (async () => {
    try {
      await promise;
      watched.state = "fulfilled";
    } catch (error) {
      watched.state = "rejected";
      watched.error = error;
    }
  })();
  return watched;
}
