/** Makes claims: the slot, its source, a token and a job id. */
import { isoTimeMs } from "../../iso-time.js";
import { randomToken } from "../../random.js";
import { UNKNOWN_SCHEDULE } from "../schedule-state.js";
import type { TakenClaim } from "./leases.js";
import type { QueueEntry } from "./queue-entry.js";

export class NewClaims {
  readonly #newJobId: (at: Date) => string;
  #latestSlot = new Date(Number.NaN);

  constructor(newJobId: (at: Date) => string) {
    this.#newJobId = newJobId;
  }

  /** `asked`: the slot of a manual claim, which is not the planned one. */
  make(
    entry: QueueEntry,
    { seenAt, claimedAt }: Pick<TakenClaim, "seenAt" | "claimedAt">,
    asked?: Pick<TakenClaim, "slot" | "source">,
  ): TakenClaim {
    const { agent, schedule, state } = entry;
    return {
      agent: agent.name,
      schedule,
      token: randomToken(),
      jobId: this.#newJobId(claimedAt),
      slot: asked?.slot ?? this.#slotAt(slotMsOf(entry)),
      source: asked === undefined ? (state.next_run_source ?? undefined) : asked.source,
      seenAt,
      claimedAt,
      state: UNKNOWN_SCHEDULE,
    };
  }

  /** One object for all slots that are due at the same time. */
  #slotAt(ms: number): Date {
    if (this.#latestSlot.getTime() !== ms) this.#latestSlot = new Date(ms);
    return this.#latestSlot;
  }
}

/** The planned time, also where a pause has put the run off. */
function slotMsOf({ state, dueMs }: QueueEntry): number {
  return state.paused_until == null ? dueMs : (isoTimeMs(state.next_run_at) ?? dueMs);
}
