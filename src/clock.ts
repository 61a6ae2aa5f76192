/**
 * The Clock port, and the only module that reads real time or sets a timer.
 * `systemClock` is the machine's time; `FakeClock` is time that moves only when a test moves it.
 */
import { durationMs } from "./duration.js";
import { quote } from "./errors.js";

export interface Clock {
  /** The wall clock, which decides due times. It may jump in either direction. */
  now(): Date;
  /** Milliseconds from an arbitrary start, which measure durations. Never goes back. */
  monotonic(): number;
  /** Resolves after `ms` on the monotonic clock, never early; rejects with the signal's reason when aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /**
   * As `sleep`, for who sleeps all day: calls `wake`, unless it is called off by what this returns. No signal has to be
   * listened to for each sleep. A clock that does not have it is slept by.
   */
  wakeAfter?(ms: number, wake: () => void): () => void;
}

/** Calls `wake` after `ms` on any clock; answers how to call that off. */
export function wakeAfter(clock: Clock, ms: number, wake: () => void): () => void {
  if (clock.wakeAfter !== undefined) return clock.wakeAfter(ms, wake);
  const calledOff = new AbortController();
  const asleep = async (): Promise<void> => {
    try {
      await clock.sleep(ms, calledOff.signal);
    } catch (error) {
      if (calledOff.signal.aborted) return;
      throw error;
    }
    wake();
  };
  void asleep();
  return () => calledOff.abort();
}

/** A longer delay makes `setTimeout` fire at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export const systemClock: Clock = realClock({ keepsProcess: true });

/** The machine's time too, but a process ends although somebody sleeps by it. */
export const unrefClock: Clock = realClock({ keepsProcess: false });

function realClock({ keepsProcess }: { readonly keepsProcess: boolean }): Clock {
  const setAlarm = (ms: number, wake: () => void): (() => void) => {
    requireNumber(ms);
    const wakeAt = performance.now() + ms;
    let timer: NodeJS.Timeout | undefined;
    // Timers fire up to a millisecond early and reach only 2^31 ms, so each one re-checks what is left.
    const rest = (leftMs: number): void => {
      timer = setTimeout(check, Math.min(Math.max(Math.ceil(leftMs), 0), LONGEST_TIMER_MS));
      if (!keepsProcess) timer.unref();
    };
    const check = (): void => {
      const leftMs = wakeAt - performance.now();
      if (leftMs <= 0) wake();
      else rest(leftMs);
    };
    rest(ms);
    return () => clearTimeout(timer);
  };
  return {
    now: () => new Date(),
    monotonic: () => performance.now(),
    sleep: (ms, signal) => abortable(signal, (wake) => setAlarm(ms, wake)),
    wakeAfter: setAlarm,
  };
}

function requireNumber(ms: number): void {
  if (Number.isNaN(ms)) throw new RangeError("A sleep needs a number of milliseconds, got NaN.");
}

/** What abortable sleeps share: `begin` arranges the waking and returns how to call it off. */
function abortable(signal: AbortSignal | undefined, begin: (wake: () => void) => () => void): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const abort = (): void => {
      callOff();
      reject(signal?.reason);
    };
    const callOff = begin(() => {
      signal?.removeEventListener("abort", abort);
      resolve();
    });
    signal?.addEventListener("abort", abort, { once: true });
  });
}

/** Milliseconds, or text such as `"31m"`; a leading minus is for jumps only. */
export type Duration = number | string;
/** A `Date`, an ISO time, or milliseconds since 1970. */
export type Instant = Date | string | number;

interface Sleeper {
  readonly wakeAt: number;
  readonly wake: () => void;
}

/** So many sleepers woken without time passing means that something sleeps for 0 ms in a loop. */
const WAKES_WITHOUT_PROGRESS = 100_000;

/** A clock for tests: it stands still until moved, and wakes sleepers in the order of their times. */
export class FakeClock implements Clock {
  #wallMs: number;
  #monotonicMs = 0;
  #moving = false;
  /** In the order they went to sleep, which breaks ties between equal times. */
  readonly #sleepers = new Set<Sleeper>();

  constructor(startsAt: Instant = "2026-01-01T00:00:00Z") {
    this.#wallMs = instantMs(startsAt);
  }

  now(): Date {
    return new Date(this.#wallMs);
  }

  monotonic(): number {
    return this.#monotonicMs;
  }

  /** The UTC time of day as short as it can be said: `"00:15"`, `"00:15:05"`, `"00:15:05.250"`. */
  time(): string {
    return this.now()
      .toISOString()
      .slice(11, -1)
      .replace(/(:00)?\.000$/, "");
  }

  /** How many sleeps are under way. */
  get sleeping(): number {
    return this.#sleepers.size;
  }

  /** Resolves when the clock has been moved far enough; a sleep of 0 ms ends at the next move, even `advance(0)`. */
  async sleep(duration: Duration, signal?: AbortSignal): Promise<void> {
    const ms = signedMs(duration);
    await abortable(signal, (wake) => this.wakeAfter(ms, wake));
  }

  wakeAfter(ms: number, wake: () => void): () => void {
    requireNumber(ms);
    const sleeper: Sleeper = { wakeAt: this.#monotonicMs + Math.max(0, ms), wake };
    this.#sleepers.add(sleeper);
    return () => this.#sleepers.delete(sleeper);
  }

  /** Moves both clocks forward, waking each sleeper at its own time and letting it act before time goes on. */
  async advance(duration: Duration): Promise<void> {
    const ms = signedMs(duration);
    if (!(ms >= 0 && ms < Infinity)) {
      throw new RangeError(`Cannot advance by ${quote(duration)}: time passes forward, jump() sets it back.`);
    }
    if (this.#moving) throw new Error("The clock is being advanced already: await that first.");
    this.#moving = true;
    try {
      await this.#moveTo(this.#monotonicMs + ms);
    } finally {
      this.#moving = false;
    }
  }

  /** Advances by as much as the wall clock is short of `at`. */
  async advanceTo(at: Instant): Promise<void> {
    await this.advance(instantMs(at) - this.#wallMs);
  }

  /** Sets the wall clock forward or back, as an administrator or NTP does: no time passes and no sleeper wakes. */
  jump(duration: Duration): void {
    this.jumpTo(this.#wallMs + signedMs(duration));
  }

  /** Sets the wall clock to `at`: no time passes and no sleeper wakes. */
  jumpTo(at: Instant): void {
    this.#wallMs = instantMs(at);
  }

  async #moveTo(monotonicMs: number): Promise<void> {
    let wakes = 0;
    await settle();
    for (let next = this.#nextSleeper(); next !== undefined && next.wakeAt <= monotonicMs;) {
      wakes = next.wakeAt > this.#monotonicMs ? 0 : wakes + 1;
      if (wakes > WAKES_WITHOUT_PROGRESS) throw new Error(`Sleeps of 0 ms never end at ${this.time()}.`);
      this.#pass(next.wakeAt);
      this.#sleepers.delete(next);
      next.wake();
      await settle();
      next = this.#nextSleeper();
    }
    this.#pass(monotonicMs);
  }

  #nextSleeper(): Sleeper | undefined {
    let first: Sleeper | undefined;
    for (const sleeper of this.#sleepers) {
      // None can be earlier than now: of thousands that sleep until the same time, only the first is looked at.
      if (sleeper.wakeAt <= this.#monotonicMs) return sleeper;
      if (first === undefined || sleeper.wakeAt < first.wakeAt) first = sleeper;
    }
    return first;
  }

  #pass(untilMonotonicMs: number): void {
    this.#wallMs += untilMonotonicMs - this.#monotonicMs;
    this.#monotonicMs = untilMonotonicMs;
  }
}

/** Resolves when the event loop has come round: what waits to be sent is sent by then. No clock has anything to do with it. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

/** Lets what was woken act: every promise that can settle does, through a few turns of the event loop. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await nextTurn();
}

function signedMs(duration: Duration): number {
  if (typeof duration === "number") return duration;
  const back = duration.startsWith("-");
  const ms = durationMs(back ? duration.slice(1) : duration);
  if (ms === undefined)
    throw new RangeError(`Not a duration: ${quote(duration)}. Expected milliseconds or text such as "5m".`);
  return back ? -ms : ms;
}

function instantMs(instant: Instant): number {
  const ms = new Date(instant).getTime();
  if (Number.isNaN(ms))
    throw new RangeError(`Not a time: ${quote(instant)}. Expected a Date, an ISO time or milliseconds.`);
  return ms;
}
