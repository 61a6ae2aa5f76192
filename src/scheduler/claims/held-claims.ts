/**
 * The claims that this scheduler holds, of jobs and of slots that are being dropped: they are renewed until they end.
 * When a job has to stop because its claim cannot be renewed is decided in lease-guard.ts.
 */
import type { Claim } from "../../state/store.js";
import type { SchedulerContext } from "../context.js";
import { LeaseGuard } from "./lease-guard.js";

/** What runs or drops a claimed slot. A job may continue under a newer claim than the one it began with. */
export interface ClaimHolder {
  readonly claim: Claim;
  /** Tells a job to end because it has lost its claim, or may lose it soon. `false` when it need not be told. */
  stop?(cause: "superseded" | "unrenewed", reason: string): boolean;
}

const RENEWALS_IN_A_LEASE = 3;

export class HeldClaims {
  readonly #context: SchedulerContext;
  /** When the store was asked for what each holder's lease counts from, on the monotonic clock. */
  readonly #heldSince = new Map<ClaimHolder, number>();
  readonly #guard: LeaseGuard | undefined;
  #renewedMs = -Infinity;
  #renewing: Promise<void> | undefined;

  constructor(context: SchedulerContext) {
    this.#context = context;
    const { holdMs } = context.store;
    if (holdMs !== undefined)
      this.#guard = new LeaseGuard(context, {
        holdMs,
        heldSince: this.#heldSince,
        renewalMs: () => this.renewalMs,
        renew: () => this.renew(),
      });
  }

  /** Whether this scheduler holds no claim. */
  get isEmpty(): boolean {
    return this.#heldSince.size === 0;
  }

  /** `askedMs`: when the store was asked for the claim, on the monotonic clock. Its lease began no earlier. */
  add(holder: ClaimHolder, askedMs: number): void {
    // The first claim has just been made: it need not be renewed at once.
    if (this.#heldSince.size === 0 && this.#guard !== undefined) this.#renewedMs = askedMs;
    this.#heldSince.set(holder, askedMs);
    this.#guard?.begin(askedMs);
  }

  /** Idempotent. */
  remove(holder: ClaimHolder): void {
    if (this.#heldSince.delete(holder) && this.#heldSince.size === 0) this.#guard?.end();
  }

  /** Milliseconds until claims have to be renewed; `Infinity` while there are none. */
  get renewalMs(): number {
    if (this.#heldSince.size === 0) return Infinity;
    const { clock, store } = this.#context;
    return Math.max(0, this.#renewedMs + store.leaseMs / RENEWALS_IN_A_LEASE - clock.monotonic());
  }

  /** Renews all claims when it is time to, and stops jobs that have lost theirs. Call it before claiming more. */
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
    const renewals = Array.from(this.#heldSince.keys(), (holder) => ({ holder, claim: holder.claim }));
    const areHeld = await Promise.all(renewals.map(({ claim }) => store.renew(claim)));
    // Only now: a renewal that failed is tried again at the next pass, before anything is claimed.
    this.#renewedMs = startedMs;
    for (const [index, { holder, claim }] of renewals.entries()) {
      if (!this.#heldSince.has(holder) || holder.claim !== claim) continue;
      if (areHeld[index] === true) this.#heldSince.set(holder, startedMs);
      else holder.stop?.("superseded", "The claim was not renewed in time, and its slot was claimed again");
    }
  }
}
