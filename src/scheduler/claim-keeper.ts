/**
 * The claims that a scheduler holds, of running jobs and of slots that are being dropped: they are renewed while they
 * last, and ended by a write that is tried until it works.
 */
import { messageOf } from "../errors.js";
import { StateLockedError } from "../state/errors.js";
import type { Claim } from "../state/state-store.js";
import { nameOf, reportTrouble, type SchedulerContext } from "./scheduler-context.js";

/** Whoever runs or drops a claimed slot. A job may go on under another claim than it began with. */
export interface ClaimHolder {
  readonly claim: Claim;
  /** The keeper's: which of its holders it is, or -1. */
  place: number;
}

/** After `stop`, how often the end of a claim is tried to be recorded before it is given up. */
const TRIES_AFTER_STOP = 30;

export class ClaimKeeper {
  readonly #context: SchedulerContext;
  readonly #holders: ClaimHolder[] = [];
  #renewedMs = -Infinity;
  /** Whether the scheduler goes on, so that trying again makes sense. */
  isOpen = true;

  constructor(context: SchedulerContext) {
    this.#context = context;
  }

  /** Whether nothing is under way: no job, and no slot that is being dropped. */
  get isIdle(): boolean {
    return this.#holders.length === 0;
  }

  add(holder: ClaimHolder): void {
    holder.place = this.#holders.length;
    this.#holders.push(holder);
  }

  /** May be called again. */
  remove(holder: ClaimHolder): void {
    const { place } = holder;
    if (place < 0) return;
    holder.place = -1;
    const last = this.#holders.pop();
    if (last === undefined || last === holder) return;
    this.#holders[place] = last;
    last.place = place;
  }

  /** Milliseconds until claims have to be renewed; `Infinity` while there are none. */
  get renewalMs(): number {
    if (this.isIdle) return Infinity;
    const { clock, store } = this.#context;
    return Math.max(0, this.#renewedMs + store.leaseMs / 3 - clock.monotonic());
  }

  /**
   * Keeps claims alive, and answers those that another has taken. To be called before anything is claimed: what has
   * outlived its lease would be claimed again.
   */
  async renew(): Promise<readonly Claim[]> {
    if (this.renewalMs > 0) return [];
    const { clock, store } = this.#context;
    const startedMs = clock.monotonic();
    const claims = this.#holders.map(({ claim }) => claim);
    const areHeld = await Promise.all(claims.map((claim) => store.renew(claim)));
    // Only now: what could not be renewed is tried again at the next pass, before anything is claimed.
    this.#renewedMs = startedMs;
    return claims.filter((_, index) => areHeld[index] === false);
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
