/**
 * Which time a store goes by: the database's, whatever the node's clock shows. A clock that is not the machine's, as in
 * tests, is taken at its word: its time goes along with every question, and this is the only place that decides so.
 */
import { type Clock, systemClock, unrefClock, wakeAfter } from "../../../clock.js";
import { isoText } from "../../../iso-time.js";
import { StateError } from "../../errors.js";
import type { Database } from "./database.js";
import { msOf } from "../rows/state-row.js";

/** What goes along: `null` where the database is to look at its own clock. */
export interface TimeParameters {
  readonly now: string | null;
  /** What leases are counted by. */
  readonly leaseNow: string | null;
}

/** That it was `databaseMs` somewhere between a question and its answer, which are times of the monotonic clock. */
export interface TimeAnswer {
  readonly databaseMs: number;
  readonly askedMs: number;
  readonly answeredMs: number;
}

const THE_DATABASES: TimeParameters = { now: null, leaseNow: null };

export class StoreTime implements Clock {
  readonly #isGiven: boolean;
  #clock: Clock;
  #leadMs: number | undefined;

  constructor(given: Clock | undefined) {
    this.#isGiven = given !== undefined;
    this.#clock = given ?? systemClock;
  }

  /** Two clocks in one scheduler would never agree on what is due. */
  adopt(clock: Clock | undefined): void {
    if (!this.#isGiven && clock !== undefined) this.#clock = clock;
  }

  get isTheDatabases(): boolean {
    return this.#clock === systemClock || this.#clock === unrefClock;
  }

  get parameters(): TimeParameters {
    if (this.isTheDatabases) return THE_DATABASES;
    return { now: isoText(this.#clock.now()), leaseNow: isoText(new Date(this.#clock.monotonic())) };
  }

  /** To be told whenever the database says what time it is, and when it was asked, on the monotonic clock. */
  heard(databaseNow: Date, askedMs: number): void {
    const databaseMs = databaseNow.getTime();
    // No time at all: from there on nothing would be due any more.
    if (!Number.isFinite(databaseMs)) return;
    const answeredMs = this.#clock.monotonic();
    this.#leadMs = leadAfter(this.#leadMs, { databaseMs, askedMs, answeredMs });
  }

  /** Asks, where nobody has said it yet. */
  async learn(database: Pick<Database, "send">): Promise<void> {
    if (!this.isTheDatabases || this.#leadMs !== undefined) return;
    const askedMs = this.#clock.monotonic();
    this.heard(await databaseTime(database), askedMs);
  }

  /** The time without asking. Throws before the first answer: what the machine shows instead may be off by years. */
  now(): Date {
    if (!this.isTheDatabases) return this.#clock.now();
    if (this.#leadMs === undefined)
      throw new StateError("The database has not said yet what time it is: call open() first.", {
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

/** What the database's clock shows. */
export async function databaseTime(database: Pick<Database, "send">): Promise<Date> {
  const [row] = await database.send({ text: "select date_part('epoch', clock_timestamp()) * 1000 as now" });
  return new Date(msOf(row?.["now"]) ?? NaN);
}

/** The database tells whole milliseconds: it may be almost one later than it says. */
const RESOLUTION_MS = 1;

/**
 * By how much the database's clock leads the monotonic one, as far as an answer tells: what was known stays while the
 * answer allows it, so that a slow one looks like no step of the clock; else the nearest that it allows. The first is the
 * least it can be: who takes it to be earlier than it is wakes late and not in vain.
 */
export function leadAfter(
  knownMs: number | undefined,
  { databaseMs, askedMs, answeredMs }: TimeAnswer,
): number {
  const leastMs = databaseMs - answeredMs;
  const mostMs = databaseMs + RESOLUTION_MS - askedMs;
  return knownMs === undefined ? leastMs : Math.min(Math.max(knownMs, leastMs), mostMs);
}
