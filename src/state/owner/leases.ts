/** How long claims last that nobody renews. A lease does not end while the end of its claim is being recorded. */
import type { Clock } from "../../clock.js";
import type { ScheduleState } from "../schedule-state.js";
import type { Claim, ClaimToken } from "../store.js";

/** A claim on its way: what is known only when it is recorded, or when its slot comes due, is filled in then. */
export interface TakenClaim extends Claim {
  seenAt: Date;
  claimedAt: Date;
  state: ScheduleState;
}

export interface Leased {
  readonly claim: TakenClaim;
  /** On the monotonic clock; set by the leases. */
  leaseEndsMs: number;
  /** Its outcome is being recorded, which nobody may overtake. */
  isEnding: boolean;
}

export class Leases<Held extends Leased> {
  readonly #clock: Clock;
  readonly #leaseMs: number;
  readonly #byToken = new Map<string, Held>();
  /** No lease ends before this. */
  #firstEndMs = Infinity;

  constructor(clock: Clock, leaseMs: number) {
    this.#clock = clock;
    this.#leaseMs = leaseMs;
  }

  /** `nowMs` on the monotonic clock. */
  add(held: Held, nowMs: number = this.#clock.monotonic()): void {
    held.leaseEndsMs = nowMs + this.#leaseMs;
    this.#byToken.set(held.claim.token, held);
    this.#firstEndMs = Math.min(this.#firstEndMs, held.leaseEndsMs);
  }

  /** Who holds this claim, as long as no later one holds its schedule. */
  find({ token, agent, schedule }: ClaimToken): Held | undefined {
    const living = this.#byToken.get(token);
    return living?.claim.agent === agent && living.claim.schedule === schedule ? living : undefined;
  }

  get size(): number {
    return this.#byToken.size;
  }

  has(token: string): boolean {
    return this.#byToken.has(token);
  }

  delete({ token }: ClaimToken): void {
    this.#byToken.delete(token);
  }

  values(): Iterable<Held> {
    return this.#byToken.values();
  }

  renew(claim: ClaimToken): boolean {
    const living = this.find(claim);
    if (living === undefined) return false;
    living.leaseEndsMs = this.#clock.monotonic() + this.#leaseMs;
    return true;
  }

  beginEnd(claim: ClaimToken): boolean {
    const living = this.find(claim);
    if (living === undefined || living.isEnding) return false;
    living.isEnding = true;
    return true;
  }

  keep(claim: ClaimToken): void {
    const living = this.find(claim);
    if (living !== undefined) living.isEnding = false;
  }

  /** Those whose lease has ended; they stay until they are deleted. */
  expired(nowMs: number): Held[] {
    if (nowMs < this.#firstEndMs) return [];
    const expired: Held[] = [];
    this.#firstEndMs = Infinity;
    for (const living of this.#byToken.values()) {
      if (living.leaseEndsMs <= nowMs && !living.isEnding) expired.push(living);
      else this.#firstEndMs = Math.min(this.#firstEndMs, living.leaseEndsMs);
    }
    return expired;
  }
}
