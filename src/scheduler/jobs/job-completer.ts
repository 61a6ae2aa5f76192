/**
 * Writes the ends of claims: ends that come at the same time in one call, and a failed one again until it is written.
 * The store's call may be repeated, so all that has to be known is which ends have not come back as written.
 */
import { messageOf } from "../../errors.js";
import { StateError, StateLockedError } from "../../state/errors.js";
import type { FinishResult } from "../../state/store.js";
import type { HeldClaims } from "../claims/held-claims.js";
import { nameOf, reportTrouble, type SchedulerContext } from "../context.js";
import type { ClaimEnd, EndedClaim } from "./claim-end.js";

/** An end that the store does not have yet. */
interface Unwritten {
  readonly end: ClaimEnd;
  /** Set when the claim has ended, and only the record is missing. */
  claim: EndedClaim | undefined;
  error: unknown;
}

/** With so many claims still to be ended nothing is claimed. */
const MOST_UNWRITTEN = 4_000;

/** After a stop, how often an end is tried to be written before it is given up. */
const TRIES_AFTER_STOP = 30;

export class JobCompleter {
  readonly #context: SchedulerContext;
  readonly #claims: HeldClaims;
  /** The ends that came since the last call. */
  #next: Unwritten[] = [];
  #backlog = 0;
  #unwrittenCount = 0;
  /** Whether the scheduler goes on, so that trying again makes sense. */
  isOpen = true;

  constructor(context: SchedulerContext, claims: HeldClaims) {
    this.#context = context;
    this.#claims = claims;
  }

  /** Whether so many claims are still to be ended that no more should be made: after a crash their slots run again. */
  get isBehind(): boolean {
    return this.#backlog >= MOST_UNWRITTEN;
  }

  /** How many ends are not wholly written, including the ones that were given up. */
  get unwrittenCount(): number {
    return this.#unwrittenCount;
  }

  add(end: ClaimEnd): void {
    this.#backlog++;
    this.#unwrittenCount++;
    this.#next.push({ end, claim: undefined, error: undefined });
    // Jobs that started together end together, each by a promise of its own.
    if (this.#next.length === 1) void this.#writeNext();
  }

  async #writeNext(): Promise<void> {
    const { clock, checkInterval } = this.#context;
    await Promise.resolve();
    let left = this.#next;
    this.#next = [];
    for (let tries = 1, triesLeft = TRIES_AFTER_STOP; ; tries++) {
      left = await this.#write(left);
      if (left.length === 0) return;
      // A second try at once costs nothing, and most failures end there.
      if (tries === 1) continue;
      if (tries === 2) for (const unwritten of left) this.#report(unwritten);
      if (!this.isOpen && --triesLeft <= 0) break;
      await clock.sleep(checkInterval);
    }
    for (const unwritten of left) this.#abandon(unwritten);
    this.#context.loop.wake();
  }

  /** Returns what is still to be written. */
  async #write(unwritten: readonly Unwritten[]): Promise<Unwritten[]> {
    const finishes = unwritten.map((one) =>
      one.end.finish(() => {
        this.#settle(one, "ended");
        this.#context.loop.wake();
      }),
    );
    let results: readonly FinishResult[] = [];
    let failure: unknown;
    try {
      results = await this.#context.store.finishJobs(finishes);
    } catch (error) {
      failure = error;
    }
    const left: Unwritten[] = [];
    for (let index = 0; index < unwritten.length; index++) {
      const one = unwritten[index];
      const token = finishes[index]?.claim.token;
      if (one === undefined) continue;
      const result = results[index] ?? { claim: "failed", record: "failed", error: failure };
      if (!this.#isWritten(one, token, result)) left.push(one);
    }
    // Capacity may have become free.
    if (left.length < unwritten.length) this.#context.loop.wake();
    return left;
  }

  #isWritten(one: Unwritten, token: string | undefined, { claim, record, error }: FinishResult): boolean {
    const { end } = one;
    one.error = error;
    if (error instanceof StateLockedError) return this.#abandon(one);
    if (claim === "failed") return false;
    // The job has continued under a newer claim, which is to be ended.
    if (claim === "superseded" && token !== end.holder.claim.token) return false;
    this.#settle(one, claim);
    if (record === "failed") {
      const isRefused = error instanceof StateError && error.code === "INVALID_STATE";
      if (!isRefused) return false;
      // A record that can never be written must not keep its schedule from going on.
      reportTrouble(this.#context, end.holder.claim, "Could not record a job of", error);
    }
    this.#unwrittenCount--;
    this.#claims.remove(end.holder);
    end.close(one.claim ?? claim);
    return true;
  }

  /** Once for each end, as soon as its claim has ended. */
  #settle(one: Unwritten, claim: EndedClaim): void {
    if (one.claim !== undefined) return;
    one.claim = claim;
    this.#backlog--;
    one.end.settle(claim);
  }

  /** The claim stays as it is: its lease ends, or the owner that took the store over ends it. */
  #abandon({ end, claim, error }: Unwritten): true {
    const { log } = this.#context;
    log.error(`Gave up recording the end of a job of ${nameOf(end.holder.claim)}: ${messageOf(error)}`);
    if (claim === undefined) {
      this.#backlog--;
      end.abandon();
    }
    this.#claims.remove(end.holder);
    end.close(claim ?? "ended");
    return true;
  }

  #report({ end, error }: Unwritten): void {
    reportTrouble(this.#context, end.holder.claim, "Could not record the end of a job of", error);
  }
}
