/**
 * The claims that a scheduler holds, of running jobs and of slots that are being dropped: they are renewed while they
 * last, and ended by a write that is tried until it works.
 */
import { StateLockedError } from "../state/errors.js";
import type { Claim, ClaimToken } from "../state/state-store.js";
import { messageOf, nameOf, reportTrouble, type SchedulerContext } from "./scheduler-context.js";

/** Whoever runs or drops a claimed slot. A job may go on under another claim than it began with. */
export interface ClaimHolder {
  readonly claim: Claim;
}

/** After `stop`, how often the end of a claim is tried to be recorded before it is given up. */
const TRIES_AFTER_STOP = 30;

export class ClaimKeeper {
  readonly #context: SchedulerContext;
  /** By token. */
  readonly #held = new Map<string, ClaimToken>();
  #renewedMs = -Infinity;
  /** Whether the scheduler goes on, so that trying again makes sense. */
  isOpen = true;

  constructor(context: SchedulerContext) {
    this.#context = context;
  }

  /** Whether nothing is under way: no job, and no slot that is being dropped. */
  get isIdle(): boolean {
    return this.#held.size === 0;
  }

  hold(claim: ClaimToken): void {
    this.#held.set(claim.token, claim);
  }

  letGo({ token }: ClaimToken): void {
    this.#held.delete(token);
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
  async renew(): Promise<readonly ClaimToken[]> {
    if (this.renewalMs > 0) return [];
    const { clock, store } = this.#context;
    const startedMs = clock.monotonic();
    const held = [...this.#held.values()];
    const areHeld = await Promise.all(held.map((claim) => store.renew(claim)));
    // Only now: what could not be renewed is tried again at the next pass, before anything is claimed.
    this.#renewedMs = startedMs;
    return held.filter((_, index) => areHeld[index] === false);
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
    this.letGo(holder.claim);
  }
}
