/**
 * The clock of a PostgreSQL store: the database's time, whatever the machine's clock shows. A clock that was given, as in
 * tests, replaces it: its time is a parameter of every statement. Only this module knows the difference.
 */
import { type Clock, systemClock, unrefClock, wakeAfter } from "../../../clock.js";
import { isoText } from "../../../iso-time.js";
import { StateError } from "../../errors.js";
import type { Database } from "./database.js";
import { msOf } from "../rows/state-row.js";

/** Parameters of statements: `null` where the database uses its own clock. */
export interface TimeParameters {
  readonly now: string | null;
  /** The time that leases are compared with. */
  readonly leaseNow: string | null;
}

/** The database's time, between two times of the monotonic clock: when the statement was sent and when the reply came. */
export interface TimeReading {
  readonly databaseMs: number;
  readonly sentMs: number;
  readonly repliedMs: number;
}

const THE_DATABASES: TimeParameters = { now: null, leaseNow: null };

function isOfMachine(clock: Clock): boolean {
  return clock === systemClock || clock === unrefClock;
}

export class DatabaseClock implements Clock {
  /** Whether this is the database's time, because no clock was given in its place. */
  isTheDatabases: boolean;
  readonly #isGiven: boolean;
  #clock: Clock;
  #leadMs: number | undefined;

  constructor(given: Clock | undefined) {
    this.#isGiven = given !== undefined;
    this.#clock = given ?? systemClock;
    this.isTheDatabases = isOfMachine(this.#clock);
  }

  /** Uses the caller's clock, unless the store was given one: two clocks in one scheduler would not agree on what is due. */
  adopt(clock: Clock | undefined): void {
    if (!this.#isGiven && clock !== undefined) this.#clock = clock;
    this.isTheDatabases = isOfMachine(this.#clock);
  }

  get parameters(): TimeParameters {
    if (this.isTheDatabases) return THE_DATABASES;
    return { now: isoText(this.#clock.now()), leaseNow: isoText(new Date(this.#clock.monotonic())) };
  }

  /** To be called with the database's time and when its statement was sent, on the monotonic clock. */
  noteTime(databaseNow: Date, sentMs: number): void {
    const databaseMs = databaseNow.getTime();
    // With an invalid time nothing would be due again.
    if (!Number.isFinite(databaseMs)) return;
    const repliedMs = this.#clock.monotonic();
    this.#leadMs = leadAfter(this.#leadMs, { databaseMs, sentMs, repliedMs });
  }

  /** Reads the database's time if it is not known yet. */
  async learn(database: Pick<Database, "send">): Promise<void> {
    if (!this.isTheDatabases || this.#leadMs !== undefined) return;
    const sentMs = this.#clock.monotonic();
    this.noteTime(await databaseTime(database), sentMs);
  }

  /** The time, without a statement. Throws before the first reply: the machine's own clock may be off by years. */
  now(): Date {
    if (!this.isTheDatabases) return this.#clock.now();
    if (this.#leadMs === undefined)
      throw new StateError("The database's time is not known yet: call open() first.", {
        code: "STATE_CLOSED",
      });
    return new Date(Math.floor(this.#clock.monotonic() + this.#leadMs));
  }

  monotonic(): number {
    return this.#clock.monotonic();
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return this.#clock.sleep(ms, signal);
  }

  wakeAfter(ms: number, wake: () => void): () => void {
    return wakeAfter(this.#clock, ms, wake);
  }
}

/** The time of the database's clock. */
export async function databaseTime(database: Pick<Database, "send">): Promise<Date> {
  const [row] = await database.send({ text: "select date_part('epoch', clock_timestamp()) * 1000 as now" });
  return new Date(msOf(row?.["now"]) ?? NaN);
}

/** Times are truncated to milliseconds. */
const RESOLUTION_MS = 1;

/**
 * By how much the database's clock leads the monotonic one. The known lead stays while the reading allows it, so that a slow
 * reply does not look like a step of the clock; otherwise it becomes the nearest that the reading allows. The first is the
 * smallest possible, because a caller that wakes early would wake in vain.
 */
export function leadAfter(
  knownMs: number | undefined,
  { databaseMs, sentMs, repliedMs }: TimeReading,
): number {
  const leastMs = databaseMs - repliedMs;
  const mostMs = databaseMs + RESOLUTION_MS - sentMs;
  return knownMs === undefined ? leastMs : Math.min(Math.max(knownMs, leastMs), mostMs);
}
