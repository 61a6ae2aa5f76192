/** Makes claims: which slot it is and why, and what tells the claim from all others. What is taken is the book's to decide. */
import { isoTimeMs } from "../../iso-time.js";
import { randomToken } from "../../random.js";
import type { Entry } from "./queue-entry.js";
import type { TakenClaim } from "./leases.js";
import { UNKNOWN_SCHEDULE } from "../schedule-state.js";

export class NewClaims {
  readonly #newJobId: (at: Date) => string;
  #latestSlot = new Date(Number.NaN);

  constructor(newJobId: (at: Date) => string) {
    this.#newJobId = newJobId;
  }

  /** Of a slot that is not due yet, it is not known when it will be seen and claimed. `asked`: by hand, whatever is planned. */
  make(
    entry: Entry,
    times?: Pick<TakenClaim, "seenAt" | "claimedAt">,
    asked?: Pick<TakenClaim, "slot" | "source">,
  ): TakenClaim {
    const { agent, schedule, state } = entry;
    const slot = asked?.slot ?? this.#slotAt(slotMsOf(entry));
    const { seenAt, claimedAt } = times ?? { seenAt: slot, claimedAt: slot };
    return {
      agent: agent.name,
      schedule,
      token: randomToken(),
      jobId: this.#newJobId(claimedAt),
      slot,
      source: asked === undefined ? (state.next_run_source ?? undefined) : asked.source,
      seenAt,
      claimedAt,
      state: UNKNOWN_SCHEDULE,
    };
  }

  /** One for all that are due at the same time. */
  #slotAt(ms: number): Date {
    if (this.#latestSlot.getTime() !== ms) this.#latestSlot = new Date(ms);
    return this.#latestSlot;
  }
}

/** The time it was planned for: the end of a pause is another. */
function slotMsOf({ state, dueMs }: Entry): number {
  return state.paused_until == null ? dueMs : (isoTimeMs(state.next_run_at) ?? dueMs);
}
