/**
 * Stops jobs whose claims cannot be renewed, before a different node may claim their slots. It renews by a timer of its own:
 * a pass may take long, or hang in the store.
 */
import { wakeAfter } from "../../clock.js";
import { messageOf } from "../../errors.js";
import type { SchedulerContext } from "../context.js";
import type { ClaimHolder } from "./held-claims.js";

export interface GuardedClaims {
  /** How long a job may go on after its claim was last renewed, in milliseconds. */
  readonly holdMs: number;
  /** What each holder's lease counts from, on the monotonic clock. `Infinity` for a job that was told to stop. */
  readonly heldSince: Map<ClaimHolder, number>;
  /** Milliseconds until the claims are to be renewed. */
  renewalMs(): number;
  renew(): Promise<void>;
}

/** How long after a renewal that failed the next is tried, as a part of the lease. */
const PART_BETWEEN_TRIES = 1 / 12;

export class LeaseGuard {
  readonly #context: SchedulerContext;
  readonly #claims: GuardedClaims;
  #callOff: () => void = () => {};
  /** When the timer fires, on the monotonic clock. */
  #wakeMs = Infinity;
  #isRenewing = false;
  #triedMs = -Infinity;
  /** Why the last renewal failed. */
  #trouble: string | undefined;

  constructor(context: SchedulerContext, claims: GuardedClaims) {
    this.#context = context;
    this.#claims = claims;
  }

  /** Call it for each claim that is added, with what its lease counts from. */
  begin(heldMs: number): void {
    if (heldMs + this.#claims.holdMs < this.#wakeMs) this.#setTimer();
  }

  /** Call it when no claim is held any longer. */
  end(): void {
    this.#callOff();
    this.#wakeMs = Infinity;
  }

  #setTimer(): void {
    this.end();
    const { clock } = this.#context;
    const { heldSince, holdMs } = this.#claims;
    const nowMs = clock.monotonic();
    let wakeMs = this.#isRenewing ? Infinity : nowMs + this.#renewalMs(nowMs);
    for (const heldMs of heldSince.values()) wakeMs = Math.min(wakeMs, heldMs + holdMs);
    this.#wakeMs = wakeMs;
    if (wakeMs === Infinity) return;
    // Whole milliseconds: a fraction of one could be slept again and again without time passing.
    this.#callOff = wakeAfter(clock, Math.max(0, Math.ceil(wakeMs - nowMs)), () => this.#check());
  }

  #check(): void {
    const nowMs = this.#context.clock.monotonic();
    this.#stopLate(nowMs);
    if (!this.#isRenewing && this.#renewalMs(nowMs) <= 0) void this.#renew(nowMs);
    this.#setTimer();
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
      // The pass that renews next reports it.
      this.#trouble = messageOf(error);
    }
    this.#isRenewing = false;
    if (this.#claims.heldSince.size > 0) this.#setTimer();
  }

  #stopLate(nowMs: number): void {
    const { heldSince, holdMs } = this.#claims;
    const why = this.#trouble ?? "the store does not answer";
    let stopped = 0;
    for (const [holder, heldMs] of heldSince) {
      const forMs = Math.round(nowMs - heldMs);
      if (forMs < holdMs) continue;
      // It is told once.
      heldSince.set(holder, Infinity);
      const reason = `its claim could not be renewed for ${forMs} ms, and another node may claim its slot soon: ${why}`;
      if (holder.stop?.("unrenewed", reason) === true) stopped++;
    }
    if (stopped > 0)
      this.#context.log.warn(`Stopping ${stopped} job(s) whose claims could not be renewed: ${why}`);
  }
}
