/**
 * Which time a store goes by: the database's, whatever the node's clock shows. A clock that is not the machine's, as in
 * tests, is taken at its word: its time goes along with every question, and this is the only place that decides so.
 */
import { type Clock, systemClock, unrefClock } from "../../clock.js";
import { isoText } from "../../iso-time.js";

/** What goes along: `null` where the database is to look at its own clock. */
export interface TimeParameters {
  readonly now: string | null;
  /** What leases are counted by. */
  readonly leaseNow: string | null;
}

const THE_DATABASES: TimeParameters = { now: null, leaseNow: null };

export class StoreTime {
  readonly #isGiven: boolean;
  #clock: Clock;
  /** The database's time, less that of the monotonic clock when it was heard. */
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

  /** To be told whenever the database says what time it is. */
  heard(databaseNow: Date): void {
    this.#leadMs = databaseNow.getTime() - this.#clock.monotonic();
  }

  /** The time without asking: never ahead of the database, and behind by as long as an answer takes. */
  now(): Date {
    if (!this.isTheDatabases || this.#leadMs === undefined) return this.#clock.now();
    return new Date(Math.floor(this.#clock.monotonic() + this.#leadMs));
  }

  monotonic(): number {
    return this.#clock.monotonic();
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return this.#clock.sleep(ms, signal);
  }
}
