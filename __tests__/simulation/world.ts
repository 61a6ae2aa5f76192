/** What all parts of a simulation share: the clock, the trace, and what has troubled the scheduler lately. */
import { VirtualClock } from "./virtual-clock.js";

export interface BrokenGuarantee {
  readonly guarantee: string;
  readonly details: string;
}

export class World {
  readonly clock: VirtualClock;
  readonly checkMs: number;
  readonly leaseMs: number;
  readonly maxConcurrent: number;
  readonly trace: string[] = [];
  broken: BrokenGuarantee | undefined;
  /** On the monotonic clock: when a call of the store last failed, or was last under way for longer than nothing. */
  lastFaultMs: number = -Infinity;
  lastSlowMs: number = -Infinity;
  /** What the process of the day sees of the store. */
  store: { readonly callsUnderWay: number } | undefined;
  /** When the wall clock was last set, or the machine last stood still. */
  lastJumpMs: number = -Infinity;
  /** When somebody last edited the state from outside. */
  lastEditMs: number = -Infinity;
  /** When agents were last given. */
  lastRosterMs: number = -Infinity;
  /** Since when the scheduler runs, if it does. */
  upSinceMs: number = Infinity;
  /** The slots of one passing of time; setting the clock back brings them again. */
  passing = 0;

  constructor(
    startMs: number,
    limits: { readonly checkMs: number; readonly leaseMs: number; readonly maxConcurrent: number },
  ) {
    this.clock = new VirtualClock(startMs);
    this.checkMs = limits.checkMs;
    this.leaseMs = limits.leaseMs;
    this.maxConcurrent = limits.maxConcurrent;
  }

  get nowMs(): number {
    return this.clock.monotonicMs;
  }

  get callsUnderWay(): number {
    return this.store?.callsUnderWay ?? 0;
  }

  /** Ids are drawn by real chance, and would make every trace another. */
  note(text: string): void {
    const line = text.replaceAll(/job-\d+-\d+-\d+-\w+/g, "job-…");
    this.trace.push(
      `${(this.nowMs / 1000).toFixed(3).padStart(8)}  ${new Date(this.clock.wallMs).toISOString()}  ${line}`,
    );
  }

  /** Only the first counts: what follows may be its consequence. */
  fail(guarantee: string, details: string): void {
    this.broken ??= { guarantee, details };
    this.note(`BROKEN: ${guarantee}: ${details}`);
  }

  /** Whether the scheduler was up and nothing went wrong or changed from outside for so many checks. */
  isCalm(checks: number, extraMs = 0): boolean {
    return this.callsUnderWay === 0 && this.#isUntroubled(this.nowMs - checks * this.checkMs - extraMs);
  }

  /** The same, for the time since a moment on the wall clock. */
  wasCalmSince(wallMs: number): boolean {
    const sinceMs = this.nowMs - (this.clock.wallMs - wallMs);
    return (
      sinceMs <= this.nowMs &&
      this.callsUnderWay === 0 &&
      Math.max(this.lastSlowMs, this.lastRosterMs) < sinceMs - 3 * this.checkMs &&
      this.#isUntroubled(sinceMs - 3 * this.checkMs)
    );
  }

  #isUntroubled(sinceMs: number): boolean {
    return Math.max(this.lastFaultMs, this.lastJumpMs, this.lastEditMs, this.upSinceMs) < sinceMs;
  }
}
