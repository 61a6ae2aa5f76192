/**
 * What becomes of claims on a store that others share when they cannot be renewed: their jobs are told to end before
 * another may begin. By a timer of its own, which also renews: a pass may take long, or hang in the store.
 */
import { wakeAfter } from "../../clock.js";
import { messageOf } from "../../errors.js";
import { longestHoldMs } from "../../state/lease-length.js";
import type { ClaimHolder } from "./held-claims.js";
import type { SchedulerContext } from "../context.js";

export interface WatchedClaims {
  readonly holders: readonly ClaimHolder[];
  /** Milliseconds until they are to be renewed. */
  renewalMs(): number;
  renew(): Promise<void>;
}

/** Of the lease: how long after a renewal that failed the next is tried. */
const PART_BETWEEN_TRIES = 1 / 12;

export class LeaseWatch {
  readonly #context: SchedulerContext;
  readonly #claims: WatchedClaims;
  readonly #longestMs: number;
  #callOff: () => void = () => {};
  /** When it looks next, on the monotonic clock. */
  #wakeMs = Infinity;
  #isRenewing = false;
  #triedMs = -Infinity;
  /** Why the last renewal has failed. */
  #trouble: string | undefined;

  constructor(context: SchedulerContext, claims: WatchedClaims) {
    this.#context = context;
    this.#claims = claims;
    this.#longestMs = longestHoldMs(context.store.leaseMs);
  }

  /** To be called with what a claim's lease counts from, for each that is added. */
  begin(heldMs: number): void {
    if (heldMs + this.#longestMs < this.#wakeMs) this.#rest();
  }

  /** To be called when there are no claims any more. */
  end(): void {
    this.#callOff();
    this.#wakeMs = Infinity;
  }

  #rest(): void {
    this.end();
    const { clock } = this.#context;
    const nowMs = clock.monotonic();
    // What was told to end has nothing more to fear.
    let wakeMs = this.#isRenewing ? Infinity : nowMs + this.#renewalMs(nowMs);
    for (const { heldMs } of this.#claims.holders) wakeMs = Math.min(wakeMs, heldMs + this.#longestMs);
    this.#wakeMs = wakeMs;
    if (wakeMs === Infinity) return;
    // Whole milliseconds: a fraction of one could be rested again and again without any time passing.
    this.#callOff = wakeAfter(clock, Math.max(0, Math.ceil(wakeMs - nowMs)), () => this.#look());
  }

  #look(): void {
    const nowMs = this.#context.clock.monotonic();
    this.#letGo(nowMs);
    if (!this.#isRenewing && this.#renewalMs(nowMs) <= 0) void this.#renew(nowMs);
    this.#rest();
  }

  #renewalMs(nowMs: number): number {
    const pauseMs = this.#triedMs + this.#context.store.leaseMs * PART_BETWEEN_TRIES - nowMs;
    return Math.max(this.#claims.renewalMs(), pauseMs);
  }

  async #renew(nowMs: number): Promise<void> {
    this.#isRenewing = true;
    this.#triedMs = nowMs;
    try {
      await this.#claims.renew();
      this.#trouble = undefined;
    } catch (error) {
      // The pass that renews next tells it.
      this.#trouble = messageOf(error);
    }
    this.#isRenewing = false;
    if (this.#claims.holders.length > 0) this.#rest();
  }

  #letGo(nowMs: number): void {
    const late = this.#claims.holders.filter(({ heldMs }) => nowMs - heldMs >= this.#longestMs);
    if (late.length === 0) return;
    const why = this.#trouble ?? "the store does not answer";
    let told = 0;
    for (const holder of late) {
      const forMs = Math.round(nowMs - holder.heldMs);
      // Not to be told again.
      holder.heldMs = Infinity;
      const reason = `its claim could not be renewed for ${forMs} ms and may be another's soon: ${why}`;
      if (holder.letGo?.(reason) === true) told++;
    }
    if (told > 0)
      this.#context.log.warn(`Told ${told} job(s) to end, whose claims could not be renewed: ${why}`);
  }
}
