/**
 * Time for the simulator: it moves from one wake to the next, and each process sees it through a clock of its own, which
 * ends or stands still with that process. One turn of the event loop settles everything, unless there is real I/O: then
 * time stands still until all of it is done.
 */
import type { Clock } from "../../src/clock.js";

interface Sleeper {
  readonly owner: ProcessClock | undefined;
  readonly wakeAt: number;
  readonly wake: () => void;
}

/** So many real things without time passing mean the same as somebody who sleeps for 0 ms for ever. */
const MOST_STEPS = 2_000;

export class VirtualClock {
  wallMs: number;
  monotonicMs = 0;
  /** So many wakes without time passing mean that something sleeps for 0 ms in a loop. */
  mostWakesAtOnce = 2_000;
  /** Called whenever everything that could act has acted. */
  onSettled: () => void = () => {};
  /** Carries out one thing that somebody waits for in real time; `false` when there is none. */
  carryOn: (() => Promise<boolean>) | undefined;
  readonly #sleepers = new Set<Sleeper>();

  constructor(wallMs: number) {
    this.wallMs = wallMs;
  }

  sleepersOf(owner: ProcessClock): number {
    let count = 0;
    for (const sleeper of this.#sleepers) if (sleeper.owner === owner) count++;
    return count;
  }

  /** Milliseconds until somebody wakes; `undefined` when nobody sleeps. */
  nextWakeMs(): number | undefined {
    const next = this.#next();
    return next === undefined ? undefined : Math.max(0, next.wakeAt - this.monotonicMs);
  }

  add(owner: ProcessClock, ms: number, wake: () => void): () => void {
    const sleeper = { owner, wakeAt: this.monotonicMs + Math.max(0, ms), wake };
    this.#sleepers.add(sleeper);
    return () => this.#sleepers.delete(sleeper);
  }

  forget(owner: ProcessClock): void {
    for (const sleeper of this.#sleepers) if (sleeper.owner === owner) this.#sleepers.delete(sleeper);
  }

  async advance(ms: number): Promise<void> {
    const until = this.monotonicMs + ms;
    await this.#settle();
    let wakes = 0;
    for (let next = this.#next(); next !== undefined && next.wakeAt <= until; next = this.#next()) {
      wakes = next.wakeAt > this.monotonicMs ? 0 : wakes + 1;
      if (wakes > this.mostWakesAtOnce) throw new Error("Time stands still: somebody sleeps for 0 ms.");
      this.#pass(Math.max(next.wakeAt, this.monotonicMs));
      this.#sleepers.delete(next);
      next.wake();
      await this.#settle();
    }
    this.#pass(until);
  }

  /** The whole machine stands still, and then finds that it is later. */
  freeze(ms: number): void {
    this.#pass(this.monotonicMs + ms);
  }

  async #settle(): Promise<void> {
    let steps = 0;
    do {
      if (steps++ > MOST_STEPS) throw new Error("Time stands still: somebody asks without end.");
      await new Promise((resolve) => setImmediate(resolve));
    } while (this.carryOn !== undefined && (await this.carryOn()));
    this.onSettled();
  }

  #next(): Sleeper | undefined {
    let first: Sleeper | undefined;
    for (const sleeper of this.#sleepers)
      if (sleeper.owner?.isSuspended !== true && (first === undefined || sleeper.wakeAt < first.wakeAt))
        first = sleeper;
    return first;
  }

  #pass(untilMs: number): void {
    this.wallMs += untilMs - this.monotonicMs;
    this.monotonicMs = untilMs;
  }
}

export class ProcessClock implements Clock {
  readonly #clock: VirtualClock;
  isSuspended = false;
  #isDead = false;

  constructor(clock: VirtualClock) {
    this.#clock = clock;
  }

  now(): Date {
    return new Date(this.#clock.wallMs);
  }

  monotonic(): number {
    return this.#clock.monotonicMs;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      // A dead process waits for ever.
      if (this.#isDead) return;
      const abort = (): void => {
        callOff();
        reject(signal?.reason);
      };
      const callOff = this.#clock.add(this, ms, () => {
        signal?.removeEventListener("abort", abort);
        resolve();
      });
      signal?.addEventListener("abort", abort, { once: true });
    });
  }

  kill(): void {
    this.#isDead = true;
    this.#clock.forget(this);
  }

  get isDead(): boolean {
    return this.#isDead;
  }

  get sleeping(): number {
    return this.#clock.sleepersOf(this);
  }
}
