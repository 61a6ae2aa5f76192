/**
 * One pass: note what changed, claim what is due and may run, hand it to the job desk, and say how long to sleep.
 * A claim by hand takes its turn with the passes, so that no limit is exceeded between the two.
 */
import { nextTurn } from "../../clock.js";
import type { ClaimRefusal, DueSlots, OutsideChange, ScheduleKey } from "../../state/store.js";
import { AsyncLock } from "../../async-lock.js";
import type { ClaimKeeper } from "../claims/held-claims.js";
import type { JobDesk } from "../jobs/job-starter.js";
import type { Planner } from "../planning/planner.js";
import type { Roster } from "../roster.js";
import type { RunningJob } from "../jobs/job.js";
import { keyText, type SchedulerContext } from "../context.js";

/** What clocks may differ by without one having been set: they are not read at the same instant. */
const SMALLEST_SET_BACK_MS = 1_000;

/** How long before its time a slot is made ready: many take a while to write. Half a check, if that is shorter. */
const LONGEST_AHEAD_MS = 500;

/**
 * With so many jobs that have ended and whose claims are still held, a shared store is asked for no more: should the process
 * die, they would all run again. As much as two writes hold, so that the next is ready when one has ended.
 */
const MOST_UNSETTLED = 4_000;

/** What the store is asked for while other things are done. */
interface Question {
  readonly limit: number;
  /** On the monotonic clock. */
  readonly askedMs: number;
  readonly answer: Promise<DueSlots>;
}

interface Look {
  /** What came due after this time it may not have seen. */
  readonly at: Date;
  /** Whether there may be more to claim at once. */
  readonly mayHaveMore: boolean;
}

export class Checker {
  readonly #context: SchedulerContext;
  readonly #planner: Planner;
  readonly #jobs: JobDesk;
  readonly #claims: ClaimKeeper;
  readonly #maxConcurrent: number;
  readonly #turns = new AsyncLock();
  #nextRoster: Roster | undefined;
  #outside: OutsideChange[] = [];
  #isAccepting = false;
  /** How many wait for their turn to start a job by hand. */
  #triggerCount = 0;
  readonly #aheadMs: number;
  /** By how much the wall clock led the monotonic one at the last pass. */
  #leadMs = -Infinity;

  constructor(
    context: SchedulerContext,
    planner: Planner,
    { jobs, claims, maxConcurrent }: { jobs: JobDesk; claims: ClaimKeeper; maxConcurrent: number },
  ) {
    this.#context = context;
    this.#planner = planner;
    this.#jobs = jobs;
    this.#claims = claims;
    this.#maxConcurrent = maxConcurrent;
    this.#aheadMs = Math.min(LONGEST_AHEAD_MS, context.checkInterval / 2);
  }

  /** Whether as many jobs run as may over all agents. */
  get isFull(): boolean {
    return this.#jobs.size >= this.#maxConcurrent;
  }

  get #room(): number {
    return Math.max(0, this.#maxConcurrent - this.#jobs.size);
  }

  /** From now on jobs may be started. */
  open(): void {
    this.#isAccepting = true;
  }

  /** No job is started from now on, also not by a pass that is under way. */
  shut(): void {
    this.#isAccepting = false;
  }

  /** Resolves when nothing is being claimed any more, also not by hand. */
  settled(): Promise<void> {
    return this.#turns.take(async () => {});
  }

  /** Takes the place of the roster before when the next pass begins. */
  setRoster(roster: Roster): void {
    this.#nextRoster = roster;
  }

  noteOutside(changes: readonly OutsideChange[]): void {
    this.#outside.push(...changes);
  }

  async applyRoster(): Promise<void> {
    const roster = this.#nextRoster;
    if (roster === undefined) return;
    await this.#turns.take(() => this.#planner.adopt(roster));
    // Another may have been set meanwhile.
    if (this.#nextRoster === roster) this.#nextRoster = undefined;
  }

  /**
   * A pass that finds nothing to do, which is what most are, and so without waiting for anything: answers how many
   * milliseconds may pass before the next, or `undefined` when there may be something to do.
   */
  glance(): number | undefined {
    const { store, checkInterval } = this.#context;
    if (this.#hasNews || !this.#claims.isIdle) return undefined;
    const idleMs = store.idleMs?.() ?? 0;
    if (idleMs <= this.#aheadMs || this.#setBackMs() >= SMALLEST_SET_BACK_MS) return undefined;
    this.#leadMs = this.#leadNow();
    return Math.min(idleMs - this.#aheadMs, checkInterval);
  }

  /** Answers how many milliseconds may pass before the next. */
  async check(): Promise<number> {
    if (this.#wasSetBack()) await this.#turns.take(() => this.#planner.adoptAll());
    await this.applyRoster();
    if (this.#planner.hasUnwritten) await this.#planner.retry();
    const look = await this.#turns.take(() => this.#claimDue());
    const outside = this.#outside;
    this.#outside = [];
    if (outside.length > 0) await this.#planner.noteOutside(outside);
    return this.#sleepMs(look);
  }

  /** Starts a job now, or answers why not: "full" is a matter of this scheduler, `at_capacity` one of the agent's. */
  trigger(key: ScheduleKey): Promise<RunningJob | ClaimRefusal | "stopped" | "full"> {
    this.#triggerCount++;
    return this.#turns.take(async () => {
      this.#triggerCount--;
      if (!this.#isAccepting) return "stopped";
      if (this.isFull) return "full";
      const askedMs = this.#context.clock.monotonic();
      const claim = await this.#context.store.claim(key);
      if (typeof claim === "string") return claim;
      const [running] = this.#jobs.start([claim], askedMs, () => this.#isAccepting);
      return running ?? "stopped";
    });
  }

  /** Plans made before the clock was set back would have to wait until it shows their times again. */
  #wasSetBack(): boolean {
    const backMs = this.#setBackMs();
    this.#leadMs = this.#leadNow();
    if (backMs < SMALLEST_SET_BACK_MS) return false;
    this.#context.log.warn(`The clock was set back by ${backMs} ms: what is planned is planned again.`);
    return true;
  }

  #setBackMs(): number {
    return Math.round(this.#leadMs - this.#leadNow());
  }

  #leadNow(): number {
    const { clock } = this.#context;
    return clock.now().getTime() - clock.monotonic();
  }

  async #claimDue(): Promise<Look> {
    const at = this.#context.clock.now();
    if (!this.#isAccepting) return { at, mayHaveMore: false };
    // Right before: whatever took long until here must not have cost a running job its claim.
    await this.#claims.renew();
    if (this.#isBehind) return { at, mayHaveMore: false };
    for (let asked = this.#ask(this.#room); ;) {
      const { claims, skipped, hasMore } = this.#asOrdered(await asked.answer);
      const isNextAsked = hasMore === true && claims.length > 0 && skipped.length === 0 && this.#mayGoOn;
      const next = isNextAsked ? this.#ask(this.#room - claims.length) : undefined;
      // To start thousands takes as long as to claim them, and what was asked is sent before.
      if (next !== undefined) await nextTurn();
      this.#jobs.start(claims, asked.askedMs, () => this.#isAccepting);
      if (skipped.length > 0) await this.#planner.noteWaiting(skipped);
      if (next === undefined) return { at, mayHaveMore: claims.length > 0 && claims.length < asked.limit };
      asked = next;
    }
  }

  #ask(room: number): Question {
    const limit = Math.max(0, room);
    const { clock, store } = this.#context;
    const askedMs = clock.monotonic();
    // A store that throws has answered too.
    const answer = (async (): Promise<DueSlots> => store.claimDue(limit))();
    // Whoever waits for it hears of it; until then it is nobody's.
    answer.catch(() => {});
    return { limit, askedMs, answer };
  }

  /**
   * Whether the pass may claim more: nothing waits for the next one, what has ended is written as fast as it comes, and
   * claims are renewed by others than passes, as those of a shared store are.
   */
  get #mayGoOn(): boolean {
    if (this.#context.store.isShared !== true || !this.#isAccepting) return false;
    return !this.#hasNews && !this.#isBehind;
  }

  /** Whether claims are to be ended before others are made. Each that is wakes the loop. */
  get #isBehind(): boolean {
    return this.#context.store.isShared === true && this.#jobs.unsettledCount >= MOST_UNSETTLED;
  }

  /** Whether there is something to be done besides claiming. */
  get #hasNews(): boolean {
    const isAsked = this.#nextRoster !== undefined || this.#outside.length > 0 || this.#triggerCount > 0;
    return isAsked || this.#planner.hasUnwritten;
  }

  /** A next run that somebody wrote into the state is an order, also when it is due before that could be noted there. */
  #asOrdered(due: DueSlots): DueSlots {
    const { claims, skipped } = due;
    const changes = this.#outside.filter(({ keys }) => keys.includes("next_run_at"));
    if (changes.length === 0) return due;
    const ordered = new Set(changes.map(keyText));
    const order = <Slot extends ScheduleKey>(slot: Slot): Slot =>
      ordered.has(keyText(slot)) ? { ...slot, source: "manual" } : slot;
    return { ...due, claims: claims.map(order), skipped: skipped.map(order) };
  }

  /**
   * Until something is due, or is to be made ready for that. What was due and was not claimed has to wait for a job to
   * end, which wakes the loop, or for the next pass.
   */
  async #sleepMs({ at, mayHaveMore }: Look): Promise<number> {
    const { clock, store, checkInterval } = this.#context;
    const longestMs = Math.min(checkInterval, this.#claims.renewalMs);
    if (this.#isBehind) return longestMs;
    const dueAt = await store.nextDueAt(mayHaveMore ? undefined : at);
    if (dueAt === undefined) return longestMs;
    const dueInMs = (): number => dueAt.getTime() - clock.now().getTime();
    if (dueInMs() > this.#aheadMs) return Math.min(dueInMs() - this.#aheadMs, longestMs);
    await this.#reserve();
    return Math.max(0, Math.min(dueInMs(), longestMs));
  }

  /** What cannot be made ready is claimed when it is due, and what is wrong is told then. */
  async #reserve(): Promise<void> {
    if (this.#isAccepting) await this.#context.store.reserve(this.#room, this.#aheadMs).catch(() => {});
  }
}
