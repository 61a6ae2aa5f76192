/** What the parts of one scheduler share. */
import { type Clock, FakeClock } from "../clock.js";
import { messageOf } from "../errors.js";
import type { Logger } from "../logger.js";
import type { Random } from "../random.js";
import { FileStore } from "../state/file/file-store.js";
import type { ScheduleKey, StateStore } from "../state/store.js";
import { ScheduleTriggerError } from "./errors.js";
import type { EventHub } from "./events.js";
import type { WakeableLoop } from "./loop/wakeable-loop.js";
import type { Roster } from "./roster.js";

export interface SchedulerContext {
  /** The store's clock where it has one, so that both agree on what is due. */
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly events: EventHub;
  /** Whether a failed job is logged. @default true */
  readonly logsFailures?: boolean | undefined;
  /** In milliseconds. */
  readonly checkInterval: number;
  readonly store: StateStore;
  /** The loop of passes, or after a stop the loop that waits for jobs to end. */
  readonly loop: WakeableLoop;
  roster: Roster;
}

export function nameOf({ agent, schedule }: ScheduleKey): string {
  return `${agent}/${schedule}`;
}

/** A text for both names that no other two have, for maps and sets. */
export function keyText({ agent, schedule }: ScheduleKey): string {
  return JSON.stringify([agent, schedule]);
}

/** Tells what went wrong with the scheduler itself, to the log and to listeners. */
export function reportError({ log, events }: SchedulerContext, what: string, cause: unknown): void {
  log.error(`${what}: ${messageOf(cause)}`);
  events.emit("scheduler:error", { error: cause instanceof Error ? cause : new Error(String(cause)) });
}

/** Tells what went wrong with one schedule, to the log and to listeners. */
export function reportTrouble(
  { log, events }: SchedulerContext,
  { agent, schedule }: ScheduleKey,
  what: string,
  cause: unknown,
): void {
  const message = `${what} ${nameOf({ agent, schedule })}: ${messageOf(cause)}`;
  log.error(message);
  const error = new ScheduleTriggerError(message, { agent, schedule, cause });
  events.emit("scheduler:error", { agent, schedule, error });
}

/** The waits of a FileStore are real, which a test that moves a FakeClock does not expect. */
export function warnOfMixedTime({ clock, log, store }: SchedulerContext): void {
  if (!(clock instanceof FakeClock && store instanceof FileStore) || store.hasOwnClock) return;
  log.warn(
    "This scheduler has a FakeClock and a FileStore: files take real time, for which advance() does not wait. " +
      "Use a MemoryStore in tests.",
  );
}
