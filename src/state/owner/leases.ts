/** How long claims last that are not renewed. A lease does not end while the end of its claim is being written. */
import type { Clock } from "../../clock.js";
import type { ScheduleState } from "../schedule-state.js";
import type { Claim, ClaimToken } from "../store.js";

/** A claim whose state is filled in when it is recorded. */
export interface TakenClaim extends Claim {
  state: ScheduleState;
}

export interface Leased {
  readonly claim: TakenClaim;
  /** On the monotonic clock; set by the leases. */
  leaseEndsMs: number;
  /** While the end of the claim is being written: resolves when that has worked or failed. */
  ending: Promise<void> | undefined;
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

  /** The claim with this token, if it is one of this schedule. */
  find({ token, agent, schedule }: ClaimToken): Held | undefined {
    const held = this.#byToken.get(token);
    return held?.claim.agent === agent && held.claim.schedule === schedule ? held : undefined;
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
    const held = this.find(claim);
    if (held === undefined) return false;
    held.leaseEndsMs = this.#clock.monotonic() + this.#leaseMs;
    return true;
  }

  /** The claims whose lease has ended; they stay until they are deleted. */
  expired(nowMs: number): Held[] {
    if (nowMs < this.#firstEndMs) return [];
    const expired: Held[] = [];
    this.#firstEndMs = Infinity;
    for (const held of this.#byToken.values()) {
      if (held.leaseEndsMs <= nowMs && held.ending === undefined) expired.push(held);
      else this.#firstEndMs = Math.min(this.#firstEndMs, held.leaseEndsMs);
    }
    return expired;
  }
}
