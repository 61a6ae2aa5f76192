/** Reads the reply of `claim_due`: claims, slots that wait for capacity, and the database's time. */
import type { Fields } from "../../../fields.js";
import { isoTimeMs } from "../../../iso-time.js";
import type { ScheduleState, StoredClaim } from "../../schedule-state.js";
import type { Claim, ClaimRefusal, ScheduleKey, SkippedSlot } from "../../store.js";
import { wholeState } from "../../validate-state.js";
import { numbersIn } from "../rows/column-text.js";
import { documentsOf } from "../rows/state-document.js";
import type { DeferredSlots } from "./deferred-slots.js";
import { msOf, pastSlot, plannedSource, type StateRow, storedClaim, withClaim } from "../rows/state-row.js";

export interface ClaimReply {
  /** The oldest slot first. */
  readonly claims: readonly Claim[];
  /** The rows of the claims. */
  readonly claimed: readonly StateRow[];
  readonly skipped: readonly SkippedSlot[];
  /** When the oldest claimed slot came due; `-Infinity` without claims. */
  readonly oldestMs: number;
  /** The time by the clock that decided; `undefined` when leases have ended, so that nothing was claimed. */
  readonly atMs: number | undefined;
  /** When the next call can find a slot; `undefined` for never. */
  readonly nextMs: number | undefined;
  /** The number of the latest change that came from outside the nodes. */
  readonly latestChange: number;
}

/** In the same order. */
interface Found {
  readonly claims: Claim[];
  readonly claimed: StateRow[];
  /** When each could be claimed. */
  readonly dues: number[];
}

export interface ReplyContext {
  readonly node: string;
  /** The defined schedules by the ids of their rows. */
  readonly schedules: ReadonlyMap<number, ScheduleKey>;
  /** The slots that this node left; absent if there are none. */
  readonly deferred?: Pick<DeferredSlots, "seenMs"> | undefined;
}

/** The one row that `claim_due` returns, all columns as text. */
export function readReply(row: Fields, context: ReplyContext): ClaimReply {
  const atMs = msOf(row["at_ms"]);
  const found = foundIn(row, atMs ?? 0, context);
  return {
    claims: byAge(found),
    oldestMs: found.dues.length === 0 ? -Infinity : found.dues.reduce((a, b) => Math.min(a, b)),
    claimed: found.claimed,
    skipped: row["waiting_ids"] === null ? [] : skippedIn(row, atMs, context),
    atMs,
    nextMs: msOf(row["next_ms"]),
    latestChange: Number(row["latest_change"] ?? 0),
  };
}

/** Called for thousands at once: a spread object would cost as much as the rest of a claim. */
function foundIn(reply: Fields, atMs: number, { node, schedules, deferred }: ReplyContext): Found {
  const ids = numbersIn(reply["ids"]);
  const documents = documentsOf(reply["states"], ids.length);
  const [versions, tokens] = [numbersIn(reply["versions"]), numbersIn(reply["tokens"])];
  const slots = numbersIn(reply["slots"]);
  const seen = timesIn(reply["seen_ids"], reply["seen"]);
  const held = timesIn(reply["held_ids"], reply["held"]);
  const claimedAt = new Date(atMs);
  let slot = claimedAt;
  const found: Found = { claims: [], claimed: [], dues: [] };
  for (let index = 0; index < ids.length; index++) {
    const id = ids[index] ?? 0;
    const key = schedules.get(id);
    const document = documents[index];
    if (key === undefined || document === undefined) continue;
    const slotMs = slots[index] ?? atMs;
    // Most slots of a reply have the same time.
    if (slotMs !== slot.getTime()) slot = new Date(slotMs);
    const dueMs = dueOf(document, slotMs);
    const heldMs = held?.get(id);
    // While its agent was paused a poll could not see it.
    const seenMs = heldMs ?? seen?.get(id) ?? deferred?.seenMs(dueMs);
    const stored = storedClaim(String(tokens[index]), slot, claimedAt, plannedSource(document));
    const state = withClaim(document, stored);
    const { agent, schedule } = key;
    const row = { agent, schedule, id, version: versions[index] ?? 0, state, owner: node, seenMs };
    const seenAt = seenMs === undefined || seenMs > atMs ? claimedAt : new Date(seenMs);
    found.dues.push(dueMs);
    found.claimed.push(row);
    const claim = newClaim(row, stored, slot, claimedAt, seenAt);
    found.claims.push(heldMs === undefined ? claim : { ...claim, heldUntil: new Date(heldMs) });
  }
  return found;
}

/** Times of slots, by the id of their schedule: when each was first seen due, or when a pause ended that held it back. */
function timesIn(ids: unknown, times: unknown): ReadonlyMap<number, number> | undefined {
  if (ids === null || ids === undefined) return undefined;
  const ms = numbersIn(times);
  return new Map(numbersIn(ids).map((id, index) => [id ?? 0, ms[index] ?? 0]));
}

function skippedIn(
  reply: Fields,
  atMs: number | undefined,
  { schedules, deferred }: ReplyContext,
): readonly SkippedSlot[] {
  const ids = numbersIn(reply["waiting_ids"]);
  const documents = documentsOf(reply["waiting_states"], ids.length);
  const [slots, seen] = [numbersIn(reply["waiting_slots"]), numbersIn(reply["waiting_seen"])];
  const skipped: SkippedSlot[] = [];
  for (const [index, id] of ids.entries()) {
    const key = schedules.get(id ?? 0);
    const document = documents[index];
    if (key === undefined || document === undefined) continue;
    const slotMs = slots[index] ?? 0;
    // An earlier poll of this node left it, and reported it then if it had to.
    if (seen[index] !== atMs || deferred?.seenMs(dueOf(document, slotMs)) !== undefined) continue;
    const source = plannedSource(document);
    skipped.push({ ...key, slot: new Date(slotMs), source, reason: "at_capacity" });
  }
  return skipped.toSorted((a, b) => a.slot.getTime() - b.slot.getTime());
}

/** The claim in a row that was claimed on request just now. */
export function claimOf(row: StateRow): Claim | undefined {
  const { claim } = row.state;
  const slotMs = isoTimeMs(claim?.slot);
  const claimedMs = isoTimeMs(claim?.claimed_at);
  if (claim == null || slotMs === undefined || claimedMs === undefined) return undefined;
  const claimedAt = new Date(claimedMs);
  return newClaim(row, claim, new Date(slotMs), claimedAt, claimedAt);
}

function newClaim(
  { agent, schedule, state }: StateRow,
  { token, job_id, source }: StoredClaim,
  slot: Date,
  claimedAt: Date,
  seenAt: Date,
): Claim {
  return {
    agent,
    schedule,
    token,
    jobId: job_id,
    slot,
    source: source ?? undefined,
    attempt: source === "retry" ? (state.retry?.attempt ?? 1) : 1,
    seenAt,
    claimedAt,
    state: wholeState(state),
  };
}

/** Why a claim on request was refused. */
export function readRefusal(reply: unknown): ClaimRefusal | undefined {
  return reply === "disabled" || reply === "already_running" || reply === "at_capacity" ? reply : undefined;
}

function dueOf(state: Partial<ScheduleState>, slotMs: number): number {
  const { paused_until, next_run_at } = state;
  const dueMs = pastSlot(state) === undefined ? slotMs : (isoTimeMs(next_run_at) ?? slotMs);
  return paused_until == null ? dueMs : Math.max(dueMs, isoTimeMs(paused_until) ?? 0);
}

/** The oldest first; of equals the lowest id. Most replies are in that order already. */
function byAge({ claims, claimed, dues }: Found): readonly Claim[] {
  const compare = (a: number, b: number): number =>
    (dues[a] ?? 0) - (dues[b] ?? 0) || (claimed[a]?.id ?? 0) - (claimed[b]?.id ?? 0);
  const isInOrder = dues.every((_, index) => index === 0 || compare(index - 1, index) <= 0);
  if (isInOrder) return claims;
  return [...dues.keys()].toSorted(compare).flatMap((index) => claims[index] ?? []);
}
