/** What the database answers to who claims: claims, slots that wait, claims whose lease has ended. */
import type { Fields } from "../../fields.js";
import { isoTimeMs } from "../../iso-time.js";
import type { Claim, ClaimRefusal, SkippedSlot } from "../state-store.js";
import { wholeState } from "../whole-state.js";
import { msOf, readRow, type StateRow } from "./state-row.js";

export interface ClaimAnswer {
  readonly claims: readonly Claim[];
  readonly skipped: readonly SkippedSlot[];
  /** The rows of the claims. */
  readonly claimed: readonly StateRow[];
  /** Claims whose lease has ended. When there are any, nothing was claimed. */
  readonly expired: readonly StateRow[];
  /** When it was, by the clock that decided. */
  readonly at: Date | undefined;
  /** The number of the latest change by somebody who is no node. */
  readonly latestChange: number;
}

export function readAnswer(answer: readonly Fields[]): ClaimAnswer {
  const claimed: StateRow[] = [];
  const waiting: StateRow[] = [];
  const expired: StateRow[] = [];
  let at: Date | undefined;
  let latestChange = 0;
  for (const fields of answer) {
    const { kind } = fields;
    if (kind === "claim") claimed.push(readRow(fields));
    else if (kind === "waiting") waiting.push(readRow(fields));
    else if (kind === "expired") expired.push(readRow(fields));
    else {
      at = new Date(msOf(fields["next_run_at"]) ?? 0);
      latestChange = Number(fields["version"]);
    }
  }
  claimed.sort(byAge);
  const claims = claimed.flatMap((row) => claimOf(row) ?? []);
  return { claims, skipped: waiting.toSorted(byAge).map(skipOf), claimed, expired, at, latestChange };
}

/** The claim of a row that has one. */
export function claimOf({ agent, schedule, state, seenMs }: StateRow): Claim | undefined {
  const { claim } = state;
  const slotMs = isoTimeMs(claim?.slot);
  const claimedMs = isoTimeMs(claim?.claimed_at);
  if (claim == null || slotMs === undefined || claimedMs === undefined) return undefined;
  const isManual = claim.source === "manual";
  return {
    agent,
    schedule,
    token: claim.token,
    jobId: claim.job_id,
    slot: new Date(slotMs),
    source: claim.source ?? undefined,
    seenAt: new Date(isManual ? claimedMs : (seenMs ?? claimedMs)),
    claimedAt: new Date(claimedMs),
    state: wholeState(state),
  };
}

/** Why a claim by hand was refused. */
export function readRefusal(kind: unknown): ClaimRefusal | undefined {
  return kind === "disabled" || kind === "already_running" || kind === "at_capacity" ? kind : undefined;
}

function skipOf({ agent, schedule, state, dueMs }: StateRow): SkippedSlot {
  const slot = new Date(isoTimeMs(state.next_run_at) ?? dueMs);
  return { agent, schedule, slot, source: state.next_run_source ?? undefined, reason: "at_capacity" };
}

/** The oldest slot first, and of equals the one that was known first. */
function byAge(a: StateRow, b: StateRow): number {
  return a.dueMs - b.dueMs || Number(a.id) - Number(b.id);
}
