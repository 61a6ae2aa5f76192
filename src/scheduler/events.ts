/** The notices that a scheduler emits: past facts, typed by one map. A listener that throws or rejects does no harm. */
import type { JobRecord } from "../state/job-log/job-log.js";
import type { PlanSource } from "../state/schedule-state.js";
import type { ScheduleKey } from "../state/store.js";
import { isPromiseLike } from "../fields.js";
import { invalidOption, requireFunction } from "./arguments.js";
import type { ScheduleSkipReason } from "./control/schedule-check.js";

export interface SchedulerEvents {
  "scheduler:started": { readonly startedAt: Date };
  "scheduler:stopped": { readonly runningJobCount: number };
  /** An error that no caller could be given; with `agent` and `schedule` where it concerns one. */
  "scheduler:error": { readonly error: Error } & Partial<ScheduleKey>;
  "job:started": { readonly job: JobRecord };
  "job:finished": { readonly job: JobRecord };
  /** A next run, or none: `nextRunAt` is `undefined` when the loop will not start it. */
  "schedule:planned": ScheduleKey & {
    readonly nextRunAt: Date | undefined;
    readonly source: PlanSource | undefined;
  };
  /** A schedule that does not run, a slot that has to wait, or slots that were not run (with `count`), and why. */
  "schedule:skipped": ScheduleKey & {
    readonly reason: ScheduleSkipReason;
    /** The first of them. */
    readonly slot?: Date | undefined;
    readonly lastSlot?: Date | undefined;
    /** How many slots were not run; absent while a slot only waits. */
    readonly count?: number | undefined;
  };
  /** Slots that were not run because no scheduler was there in time. */
  "schedule:missed": ScheduleKey & {
    /** The first of them. */
    readonly slot: Date;
    readonly lastSlot: Date;
    readonly count: number;
    /** By how much the first was late, and how much was allowed. */
    readonly lateMs: number;
    readonly graceMs: number;
  };
  /** A slot that was given up: the process that ran it ended each time. */
  "schedule:abandoned": ScheduleKey & { readonly slot: Date; readonly attempts: number };
}

export type SchedulerEvent = keyof SchedulerEvents;
export type SchedulerListener<Event extends SchedulerEvent> = (details: SchedulerEvents[Event]) => unknown;

const EVENTS: Readonly<Record<SchedulerEvent, true>> = {
  "job:finished": true,
  "job:started": true,
  "schedule:abandoned": true,
  "schedule:missed": true,
  "schedule:planned": true,
  "schedule:skipped": true,
  "scheduler:error": true,
  "scheduler:started": true,
  "scheduler:stopped": true,
};

type Listeners = { [Event in SchedulerEvent]?: Set<SchedulerListener<Event>> };

export class EventHub {
  readonly #listeners: Listeners = {};
  readonly #onThrow: (event: SchedulerEvent, error: unknown) => void;

  /** `onThrow` is called when a listener throws or rejects. */
  constructor(onThrow: (event: SchedulerEvent, error: unknown) => void) {
    this.#onThrow = onThrow;
  }

  on<Event extends SchedulerEvent>(event: Event, listener: SchedulerListener<Event>): void {
    if (!Object.hasOwn(EVENTS, event))
      throw invalidOption("event", event, `one of ${Object.keys(EVENTS).join(", ")}`);
    requireFunction("listener", listener);
    const listeners: Set<SchedulerListener<Event>> = this.#listeners[event] ?? new Set();
    listeners.add(listener);
    Object.assign(this.#listeners, { [event]: listeners });
  }

  off<Event extends SchedulerEvent>(event: Event, listener: SchedulerListener<Event>): void {
    this.#listeners[event]?.delete(listener);
  }

  /** Whether the event has a listener: otherwise its details need not be made. */
  isHeard(event: SchedulerEvent): boolean {
    return (this.#listeners[event]?.size ?? 0) > 0;
  }

  emit<Event extends SchedulerEvent>(event: Event, details: SchedulerEvents[Event]): void {
    for (const listener of this.#listeners[event] ?? [])
      try {
        const returned = listener(details);
        // Only a promise is waited for, so that a burst of jobs makes no promise for each.
        if (isPromiseLike(returned))
          returned.then(undefined, (error: unknown) => this.#onThrow(event, error));
      } catch (error) {
        this.#onThrow(event, error);
      }
  }
}
