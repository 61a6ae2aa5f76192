/**
 * One pass of the loop: apply what changed, claim what is due and may run, start its jobs, and say how long to sleep.
 * A trigger takes turns with the passes, so that no limit is exceeded between the two.
 */
import { AsyncLock } from "../../async-lock.js";
import { nextTurn } from "../../clock.js";
import type { ScheduleRequest } from "../../state/mailbox.js";
import type { ClaimRefusal, DueSlots, OutsideChange, ScheduleKey } from "../../state/store.js";
import type { HeldClaims } from "../claims/held-claims.js";
import { keyText, type SchedulerContext } from "../context.js";
import type { Job } from "../jobs/job.js";
import type { JobStarter } from "../jobs/job-starter.js";
import type { Planner } from "../planning/planner.js";
import type { Roster } from "../roster.js";

/** A claim that is under way while other things are done. */
interface Asked {
  /** On the monotonic clock. */
  readonly askedMs: number;
  readonly due: Promise<DueSlots>;
}

export interface PassOptions {
  readonly jobs: JobStarter;
  readonly claims: HeldClaims;
  readonly maxConcurrent: number;
}

export class Pass {
  readonly #context: SchedulerContext;
  readonly #planner: Planner;
  readonly #jobs: JobStarter;
  readonly #claims: HeldClaims;
  readonly #maxConcurrent: number;
  readonly #lock = new AsyncLock();
  #nextRoster: Roster | undefined;
  #outside: OutsideChange[] = [];
  #isAccepting = false;
  /** How many triggers wait for their turn. */
  #triggerCount = 0;

  constructor(context: SchedulerContext, planner: Planner, { jobs, claims, maxConcurrent }: PassOptions) {
    this.#context = context;
    this.#planner = planner;
    this.#jobs = jobs;
    this.#claims = claims;
    this.#maxConcurrent = maxConcurrent;
  }

  /** Whether as many jobs run as may over all agents. */
  get isFull(): boolean {
    return this.#jobs.size >= this.#maxConcurrent;
  }

  /** From now on jobs may be started. */
  open(): void {
    this.#isAccepting = true;
  }

  /** From now on no job is started, not even by a pass that is under way. */
  shut(): void {
    this.#isAccepting = false;
  }

  /** Resolves when nothing is being claimed, not even by a trigger. */
  settled(): Promise<void> {
    return this.#lock.take(async () => {});
  }

  /** Replaces the roster when the next pass begins. */
  setRoster(roster: Roster): void {
    this.#nextRoster = roster;
  }

  noteOutside(changes: readonly OutsideChange[]): void {
    this.#outside.push(...changes);
  }

  async applyRoster(): Promise<void> {
    const roster = this.#nextRoster;
    if (roster === undefined) return;
    await this.#lock.take(() => this.#planner.adopt(roster));
    // A newer roster may have been set meanwhile.
    if (this.#nextRoster === roster) this.#nextRoster = undefined;
  }

  /** How long nothing is due, in milliseconds: set by a pass that left no claim and no plan to be written. */
  idleMs: number | undefined;

  /** Returns how many milliseconds may go by before the next pass. */
  async run(): Promise<number> {
    if (this.#planner.wasSetBack()) await this.#lock.take(() => this.#planner.adoptAll());
    if (this.#nextRoster !== undefined) await this.applyRoster();
    if (this.#planner.writes.unwritten.size > 0) await this.#planner.writes.retry();
    const outside = this.#outside;
    this.#outside = [];
    if (outside.length > 0) await this.#planner.noteOutside(outside);
    const dueAt = await this.#lock.take(() => this.#claimDue());
    const { renewalMs } = this.#claims;
    const sleepMs = Math.min(this.#context.checkInterval, renewalMs);
    const dueMs = dueAt === undefined ? Infinity : dueAt.getTime() - this.#context.clock.now().getTime();
    const isIdle = renewalMs === Infinity && this.#planner.writes.unwritten.size === 0;
    this.idleMs = isIdle && dueMs > sleepMs ? dueMs : undefined;
    return Math.max(0, Math.min(sleepMs, dueMs));
  }

  /**
   * Starts a job now, or returns why not: `full` is this scheduler's limit, `at_capacity` the agent's. `answered`: the
   * request has started a job before.
   */
  trigger(
    key: ScheduleKey,
    request?: ScheduleRequest,
  ): Promise<Job | ClaimRefusal | "stopped" | "full" | "answered"> {
    this.#triggerCount++;
    return this.#lock.take(async () => {
      this.#triggerCount--;
      if (!this.#isAccepting) return "stopped";
      if (this.isFull) return "full";
      const askedMs = this.#context.clock.monotonic();
      const { store } = this.#context;
      const claim = await (request === undefined ? store.claim(key) : store.claimFor(request));
      if (typeof claim === "string") return claim;
      const [job] = this.#jobs.start([claim], askedMs, () => this.#isAccepting, request);
      return job ?? "stopped";
    });
  }

  /** Returns when the next slot is due; the epoch when the next pass should follow at once. */
  async #claimDue(): Promise<Date | undefined> {
    if (!this.#isAccepting) return undefined;
    // Right before claiming: what took long until here must not have cost a running job its claim.
    await this.#claims.renew();
    // The end of a job wakes the loop.
    if (this.#jobs.completer.isBehind) return undefined;
    for (let asked = this.#ask(0); ;) {
      const given = await asked.due;
      const { claims, skipped, nextDueAt } = this.#outside.length === 0 ? given : this.#withOrders(given);
      const hasMore = claims.length > 0 && nextDueAt?.getTime() === 0;
      const next = hasMore && skipped.length === 0 && this.#mayAskOn ? this.#ask(claims.length) : undefined;
      // Starting thousands of jobs takes as long as claiming them: the next claim is sent before.
      if (next !== undefined) await nextTurn();
      this.#jobs.start(claims, asked.askedMs, () => this.#isAccepting);
      const isPlanned = skipped.length > 0 && (await this.#planner.noteWaiting(skipped));
      if (next === undefined) {
        if (isPlanned || hasMore) return new Date(0);
        // A store that gives nothing is not asked again at once, whatever it says.
        return nextDueAt?.getTime() === 0 ? undefined : nextDueAt;
      }
      asked = next;
    }
  }

  /** `claimed`: how many slots are claimed and not started yet. */
  #ask(claimed: number): Asked {
    const { clock, store } = this.#context;
    const askedMs = clock.monotonic();
    const limit = Math.max(0, this.#maxConcurrent - this.#jobs.size - claimed);
    const due = (async (): Promise<DueSlots> => store.claimDue(limit))();
    // A rejection is handled where the claims are awaited.
    due.catch(() => {});
    return { askedMs, due };
  }

  /** Whether the pass may go on claiming: nothing waits for the next pass. */
  get #mayAskOn(): boolean {
    if (!this.#isAccepting || this.#jobs.completer.isBehind) return false;
    const isAsked = this.#nextRoster !== undefined || this.#outside.length > 0 || this.#triggerCount > 0;
    return !isAsked && this.#planner.writes.unwritten.size === 0;
  }

  /** A `next_run_at` that was edited in the state is an order, even when it is due before the next pass plans it. */
  #withOrders(due: DueSlots): DueSlots {
    const changes = this.#outside.filter(({ keys }) => keys.includes("next_run_at"));
    if (changes.length === 0) return due;
    const ordered = new Set(changes.map(keyText));
    const order = <Slot extends ScheduleKey>(slot: Slot): Slot =>
      ordered.has(keyText(slot)) ? { ...slot, source: "manual" } : slot;
    return { ...due, claims: due.claims.map(order), skipped: due.skipped.map(order) };
  }
}
