/**
 * The Clock port, and the only module that reads real time or sets a timer.
 * `systemClock` is the machine's time; `FakeClock` is time that moves only when a test moves it.
 */
import { type Duration, durationMs } from "./duration.js";
import { quote } from "./errors.js";

export interface Clock {
  /** The wall clock, which decides due times. It may jump in either direction. */
  now(): Date;
  /** Milliseconds from an arbitrary start, which measure durations. Never goes back. */
  monotonic(): number;
  /** Resolves after `ms` on the monotonic clock, never early; rejects with the signal's reason when aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /**
   * Calls `wake` after `ms`, unless the returned function cancels that. Cheaper than `sleep` for loops: it needs no
   * signal and no promise. Optional: without it, callers use `sleep`.
   */
  wakeAfter?(ms: number, wake: () => void): () => void;
  /**
   * The same for a loop that has nothing to do for a while but wakes at every period. A clock for tests may leave wakes
   * out, since a loop that finds nothing to do changes nothing. Optional.
   */
  wakeWhenIdle?(idle: IdleSleep): () => void;
}

/** The sleep of an idle loop. */
export interface IdleSleep {
  /** Whose sleep it is: a loop that sleeps again is the same owner. */
  readonly owner: object;
  /** The loop wakes after this time, in milliseconds, and again after each such time. */
  readonly periodMs: number;
  /** How long it has nothing to do, in milliseconds. */
  readonly idleMs: number;
  readonly wake: () => void;
  /** Called with the number of wakes that were left out, before `wake`. */
  readonly skip: (count: number) => void;
}

/** Calls `wake` after `ms` on any clock. Returns a function that cancels it. */
export function wakeAfter(clock: Clock, ms: number, wake: () => void): () => void {
  if (clock.wakeAfter !== undefined) return clock.wakeAfter(ms, wake);
  const cancelled = new AbortController();
  const asleep = async (): Promise<void> => {
    try {
      await clock.sleep(ms, cancelled.signal);
    } catch (error) {
      if (cancelled.signal.aborted) return;
      throw error;
    }
    wake();
  };
  void asleep();
  return () => cancelled.abort();
}

/** Settles as `promise` does, or as `onTimeout` when that takes longer than `ms`; what `promise` does later is ignored. */
export async function withTimeout<Value, Late>(
  clock: Clock,
  ms: number,
  promise: PromiseLike<Value>,
  onTimeout: () => Late,
): Promise<Value | Late> {
  let cancelTimer: (() => void) | undefined;
  const timeUp = new Promise<void>((resolve) => {
    cancelTimer = wakeAfter(clock, ms, resolve);
  });
  try {
    return await Promise.race([promise, timeUp.then(onTimeout)]);
  } finally {
    cancelTimer?.();
  }
}

/** A longer delay makes `setTimeout` fire at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export const systemClock: Clock = realClock({ keepsProcess: true });

/** The machine's time, with timers that do not keep the process alive. */
export const unrefClock: Clock = realClock({ keepsProcess: false });

function realClock({ keepsProcess }: { readonly keepsProcess: boolean }): Clock {
  const setAlarm = (ms: number, wake: () => void): (() => void) => {
    requireNumber(ms);
    const wakeAt = performance.now() + ms;
    let timer: NodeJS.Timeout | undefined;
    const setTimer = (leftMs: number): void => {
      const timerMs = Math.min(Math.max(Math.ceil(leftMs), 0), LONGEST_TIMER_MS);
      timer = setTimeout(() => {
        // Timers fire up to a millisecond early and reach only 2^31 ms.
        const stillLeftMs = wakeAt - performance.now();
        if (stillLeftMs <= 0) wake();
        else setTimer(stillLeftMs);
      }, timerMs);
      if (!keepsProcess) timer.unref();
    };
    setTimer(ms);
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

/** A sleep that a signal can abort: `begin` sets the timer and returns how to cancel it. */
function abortable(signal: AbortSignal | undefined, begin: (wake: () => void) => () => void): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const abort = (): void => {
      cancel();
      reject(signal?.reason);
    };
    const cancel = begin(() => {
      signal?.removeEventListener("abort", abort);
      resolve();
    });
    signal?.addEventListener("abort", abort, { once: true });
  });
}

/** The clock of a store: the one it was made with, else the one given to `open`. */
export class StoreClock implements Clock {
  readonly #isGiven: boolean;
  #clock: Clock;

  constructor(given: Clock | undefined) {
    this.#isGiven = given !== undefined;
    this.#clock = given ?? systemClock;
  }

  /** Two clocks in one scheduler would never agree on what is due. */
  adopt(clock: Clock | undefined): void {
    if (!this.#isGiven && clock !== undefined) this.#clock = clock;
  }

  now(): Date {
    return this.#clock.now();
  }

  monotonic(): number {
    return this.#clock.monotonic();
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return this.#clock.sleep(ms, signal);
  }

  /** The same time, with timers that do not keep the process alive where they are the machine's. */
  get background(): Clock {
    return this.#clock === systemClock ? unrefClock : this.#clock;
  }
}

/** A `Date`, an ISO time, or milliseconds since 1970. */
export type Instant = Date | string | number;

interface Sleeper {
  wakeAt: number;
  readonly wake: () => void;
  /** Set for an idle loop; `until` is on the monotonic clock. */
  readonly idle?: (IdleSleep & { readonly until: number }) | undefined;
}

/** So many wakes without time passing mean a loop of 0 ms sleeps. */
const WAKES_WITHOUT_PROGRESS = 100_000;

/** A clock for tests: it stands still until moved, and wakes sleepers in the order of their times. Text may have a leading minus in `jump`. */
export class FakeClock implements Clock {
  #wallMs: number;
  #monotonicMs = 0;
  #moving = false;
  /** In the order of their calls, which decides between equal times. */
  readonly #sleepers = new Set<Sleeper>();
  /** The idle loops that woke since anything else did, and so have seen all there is to see. */
  readonly #idlers = new Set<object>();

  constructor(startsAt: Instant = "2026-01-01T00:00:00Z") {
    this.#wallMs = instantMs(startsAt);
  }

  now(): Date {
    return new Date(this.#wallMs);
  }

  monotonic(): number {
    return this.#monotonicMs;
  }

  /** The UTC time of day in its shortest form: `"00:15"`, `"00:15:05"`, `"00:15:05.250"`. */
  time(): string {
    return this.now()
      .toISOString()
      .slice(11, -1)
      .replace(/(:00)?\.000$/, "");
  }

  /** How many sleeps have not ended. */
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

  wakeWhenIdle(idle: IdleSleep): () => void {
    const { periodMs, idleMs, wake } = idle;
    requireNumber(periodMs + idleMs);
    const until = this.#monotonicMs + idleMs;
    const sleeper: Sleeper = {
      wakeAt: this.#monotonicMs + Math.max(1, periodMs),
      wake,
      idle: { ...idle, until },
    };
    this.#sleepers.add(sleeper);
    return () => this.#sleepers.delete(sleeper);
  }

  /** Moves both clocks forward, waking each sleeper at its own time and letting it act before time goes on. */
  async advance(duration: Duration): Promise<void> {
    const ms = signedMs(duration);
    if (!(ms >= 0 && ms < Infinity)) {
      throw new RangeError(
        `Cannot advance by ${quote(duration)}: time only moves forward, use jump() to set it back.`,
      );
    }
    if (this.#moving) throw new Error("The clock is already being advanced: await that call first.");
    this.#moving = true;
    try {
      await this.#moveTo(this.#monotonicMs + ms);
    } finally {
      this.#moving = false;
    }
  }

  /** Advances until the wall clock shows `at`. */
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
    // What the caller did since the last move is seen by every loop.
    this.#idlers.clear();
    await settle();
    for (let next = this.#nextSleeper(); next !== undefined && next.wakeAt <= monotonicMs;) {
      wakes = next.wakeAt > this.#monotonicMs ? 0 : wakes + 1;
      if (wakes > WAKES_WITHOUT_PROGRESS) throw new Error(`Sleeps of 0 ms never end at ${this.time()}.`);
      if (next.idle === undefined) this.#idlers.clear();
      else if (this.#idlers.has(next.idle.owner) && this.#skipIdle(monotonicMs)) {
        next = this.#nextSleeper();
        continue;
      } else this.#idlers.add(next.idle.owner);
      this.#pass(next.wakeAt);
      this.#sleepers.delete(next);
      next.wake();
      await settle();
      next = this.#nextSleeper();
    }
    this.#pass(monotonicMs);
  }

  /** Leaves out the wakes until something may happen, where every sleeper before that is a loop that is known to be idle. */
  #skipIdle(monotonicMs: number): boolean {
    let limit = monotonicMs;
    const idle: Sleeper[] = [];
    for (const sleeper of this.#sleepers) {
      const isKnown = sleeper.idle !== undefined && this.#idlers.has(sleeper.idle.owner);
      limit = Math.min(limit, isKnown ? (sleeper.idle?.until ?? limit) : sleeper.wakeAt);
      if (isKnown) idle.push(sleeper);
    }
    let isSkipped = false;
    for (const sleeper of idle) {
      const { periodMs = 1, skip } = sleeper.idle ?? {};
      const count = Math.floor((limit - sleeper.wakeAt) / Math.max(1, periodMs));
      if (count < 1) continue;
      sleeper.wakeAt += count * Math.max(1, periodMs);
      skip?.(count);
      isSkipped = true;
    }
    return isSkipped;
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

/** Resolves after one turn of the event loop, when pending I/O has been sent. Independent of any clock. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

/** Lets woken code act: waits a few turns of the event loop, until every promise that can settle has. */
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
