/**
 * The claims that a scheduler holds, of running jobs and of slots that are being dropped: they are renewed while they
 * last, and ended by a write that is tried until it works. When to give one up is lease-watch.ts's question.
 */
import { messageOf } from "../../errors.js";
import { StateLockedError } from "../../state/errors.js";
import type { Claim } from "../../state/store.js";
import { LeaseWatch } from "./lease-guard.js";
import { nameOf, reportTrouble, type SchedulerContext } from "../context.js";

/** Whoever runs or drops a claimed slot. A job may go on under another claim than it began with. */
export interface ClaimHolder {
  readonly claim: Claim;
  /** The keeper's: which of its holders it is, or -1. */
  place: number;
  /** The keeper's: when the store was asked for what its lease counts from, on the monotonic clock. */
  heldMs: number;
  /** Hears that another has its slot. */
  lose?(reason: string): void;
  /** Hears that another may have its slot soon. `false` when there is nothing to be ended. */
  letGo?(reason: string): boolean;
}

/** After `stop`, how often the end of a claim is tried to be recorded before it is given up. */
const TRIES_AFTER_STOP = 30;
const RENEWALS_IN_A_LEASE = 3;

export class ClaimKeeper {
  readonly #context: SchedulerContext;
  readonly #holders: ClaimHolder[] = [];
  readonly #watch: LeaseWatch | undefined;
  #renewedMs = -Infinity;
  #renewing: Promise<void> | undefined;
  /** Whether the scheduler goes on, so that trying again makes sense. */
  isOpen = true;

  constructor(context: SchedulerContext) {
    this.#context = context;
    if (context.store.isShared === true)
      this.#watch = new LeaseWatch(context, {
        holders: this.#holders,
        renewalMs: () => this.renewalMs,
        renew: () => this.renew(),
      });
  }

  /** Whether nothing is under way: no job, and no slot that is being dropped. */
  get isIdle(): boolean {
    return this.#holders.length === 0;
  }

  /** `askedMs`: when the store was asked for the claim, on the monotonic clock. Its lease began no earlier. */
  add(holder: ClaimHolder, askedMs: number): void {
    // The only one there is has just been claimed: no need to ask another machine for more at once.
    if (this.isIdle && this.#watch !== undefined) this.#renewedMs = askedMs;
    holder.place = this.#holders.length;
    holder.heldMs = askedMs;
    this.#holders.push(holder);
    this.#watch?.begin(askedMs);
  }

  /** May be called again. */
  remove(holder: ClaimHolder): void {
    const { place } = holder;
    if (place < 0) return;
    holder.place = -1;
    const last = this.#holders.pop();
    if (last !== undefined && last !== holder) {
      this.#holders[place] = last;
      last.place = place;
    }
    if (this.isIdle) this.#watch?.end();
  }

  /** Milliseconds until claims have to be renewed; `Infinity` while there are none. */
  get renewalMs(): number {
    if (this.isIdle) return Infinity;
    const { clock, store } = this.#context;
    return Math.max(0, this.#renewedMs + store.leaseMs / RENEWALS_IN_A_LEASE - clock.monotonic());
  }

  /**
   * Keeps claims alive, and tells those that another has taken. To be called before anything is claimed: what has
   * outlived its lease would be claimed again.
   */
  async renew(): Promise<void> {
    if (this.renewalMs > 0) return;
    this.#renewing ??= this.#renewAll().finally(() => {
      this.#renewing = undefined;
    });
    await this.#renewing;
  }

  async #renewAll(): Promise<void> {
    const { clock, store } = this.#context;
    const startedMs = clock.monotonic();
    const renewals = this.#holders.map((holder) => ({ holder, claim: holder.claim }));
    const areHeld = await Promise.all(renewals.map(({ claim }) => store.renew(claim)));
    // Only now: what could not be renewed is tried again at the next pass, before anything is claimed.
    this.#renewedMs = startedMs;
    for (const [index, { holder, claim }] of renewals.entries()) {
      if (areHeld[index] === true) holder.heldMs = startedMs;
      else if (holder.claim === claim && holder.place >= 0)
        holder.lose?.("Another has taken over: its claim was not renewed in time");
    }
  }

  /** Ends a claim by `write`, again and again until that works: a claim that never ends would block its schedule. */
  async settle(holder: ClaimHolder, write: () => Promise<unknown>): Promise<void> {
    const { clock, checkInterval, log } = this.#context;
    for (let tries = 1, triesLeft = TRIES_AFTER_STOP; ; tries++) {
      try {
        await write();
        break;
      } catch (error) {
        if (tries === 1)
          reportTrouble(this.#context, holder.claim, "Could not record the end of a job of", error);
        if (error instanceof StateLockedError || (!this.isOpen && --triesLeft <= 0)) {
          log.error(`Gave up recording the end of a job of ${nameOf(holder.claim)}: ${messageOf(error)}`);
          break;
        }
        await clock.sleep(checkInterval);
      }
    }
    this.remove(holder);
  }
}
