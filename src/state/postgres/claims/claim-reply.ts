/** What the database answers to who claims: claims, slots that wait, and what time it is there. */
import type { Fields } from "../../../fields.js";
import { isoTimeMs } from "../../../iso-time.js";
import type { ScheduleState, StoredClaim } from "../../schedule-state.js";
import type { Claim, ClaimRefusal, ScheduleKey, SkippedSlot } from "../../store.js";
import { wholeState } from "../../whole-state.js";
import { numbersIn } from "../rows/column-text.js";
import { documentsOf } from "../rows/state-document.js";
import { msOf, type StateRow, storedClaim, withClaim } from "../rows/state-row.js";

export interface ClaimAnswer {
  /** The oldest slot first. */
  readonly claims: readonly Claim[];
  /** The rows of the claims. */
  readonly claimed: readonly StateRow[];
  readonly skipped: readonly SkippedSlot[];
  /** When the oldest of them had come due; `-Infinity` where there is none. */
  readonly oldestMs: number;
  /** When it was, by the clock that decided; `undefined` when there are leases that have ended, and nothing was done. */
  readonly atMs: number | undefined;
  /** When the next slot comes due that was not due yet; `undefined` for never. */
  readonly nextMs: number | undefined;
  /** Whether somebody waits for an agent's capacity. */
  readonly hasLines: boolean;
  /** The number of the latest change by somebody who is no node. */
  readonly latestChange: number;
}

/** In the same order. */
interface Found {
  readonly claims: Claim[];
  readonly claimed: StateRow[];
  /** When each could be claimed. */
  readonly dues: number[];
}

export interface ClaimQuestion {
  readonly node: string;
  /** Which schedule has an id. */
  readonly keyOf: (id: number) => ScheduleKey | undefined;
  /** When a slot that came due then was seen and left for want of room; `undefined` where it was not. */
  readonly seenMs: (dueMs: number) => number | undefined;
}

/** The one row that `claim_due` answers with, all of it as text. */
export function readAnswer(answer: Fields, question: ClaimQuestion): ClaimAnswer {
  const atMs = msOf(answer["at_ms"]);
  const found = foundIn(answer, atMs ?? 0, question);
  return {
    claims: byAge(found),
    oldestMs: found.dues.length === 0 ? -Infinity : found.dues.reduce((a, b) => Math.min(a, b)),
    claimed: found.claimed,
    skipped: skippedIn(answer, atMs, question).toSorted((a, b) => a.slot.getTime() - b.slot.getTime()),
    atMs,
    nextMs: msOf(answer["next_ms"]),
    hasLines: answer["has_lines"] === "t",
    latestChange: Number(answer["latest_change"] ?? 0),
  };
}

/** Of a thousand at once, so that nothing is made which is not kept: an object that is spread costs as much as a claim. */
function foundIn(answer: Fields, atMs: number, { node, keyOf, seenMs: seenBefore }: ClaimQuestion): Found {
  const ids = numbersIn(answer["ids"]);
  const documents = documentsOf(answer["states"], ids.length);
  const [versions, tokens] = [numbersIn(answer["versions"]), numbersIn(answer["tokens"])];
  const slots = numbersIn(answer["slots"]);
  const seen = seenIn(answer);
  const claimedAt = new Date(atMs);
  let slot = claimedAt;
  const found: Found = { claims: [], claimed: [], dues: [] };
  for (let index = 0; index < ids.length; index++) {
    const id = ids[index] ?? 0;
    const key = keyOf(id);
    const document = documents[index];
    if (key === undefined || document === undefined) continue;
    const slotMs = slots[index] ?? atMs;
    // Many are due at once.
    if (slotMs !== slot.getTime()) slot = new Date(slotMs);
    const dueMs = dueOf(document, slotMs);
    const seenMs = seen.get(id) ?? seenBefore(dueMs);
    const stored = storedClaim(String(tokens[index]), slot, claimedAt, document.next_run_source);
    const state = withClaim(document, stored);
    const { agent, schedule } = key;
    const row = { agent, schedule, id, version: versions[index] ?? 0, state, owner: node, seenMs };
    const seenAt = seenMs === undefined || seenMs > atMs ? claimedAt : new Date(seenMs);
    found.dues.push(dueMs);
    found.claimed.push(row);
    found.claims.push(newClaim(row, stored, { slot, claimedAt, seenAt }));
  }
  return found;
}

/** When slots were first seen due, by the id of their schedule. */
function seenIn(answer: Fields): ReadonlyMap<number, number> {
  const times = numbersIn(answer["seen"]);
  return new Map(numbersIn(answer["seen_ids"]).map((id, index) => [id ?? 0, times[index] ?? 0]));
}

function skippedIn(
  answer: Fields,
  atMs: number | undefined,
  { keyOf, seenMs }: ClaimQuestion,
): readonly SkippedSlot[] {
  const ids = numbersIn(answer["lined_ids"]);
  const documents = documentsOf(answer["lined_states"], ids.length);
  const [slots, seen] = [numbersIn(answer["lined_slots"]), numbersIn(answer["lined_seen"])];
  const skipped: SkippedSlot[] = [];
  for (const [index, id] of ids.entries()) {
    const key = keyOf(id ?? 0);
    const document = documents[index];
    if (key === undefined || document === undefined) continue;
    const slotMs = slots[index] ?? 0;
    // What was left before for want of room has been waiting since then.
    if (seen[index] !== atMs || seenMs(dueOf(document, slotMs)) !== undefined) continue;
    const source = document.next_run_source ?? undefined;
    skipped.push({ ...key, slot: new Date(slotMs), source, reason: "at_capacity" });
  }
  return skipped;
}

/** The claim of a row that has one, made by hand just now. */
export function claimOf(row: StateRow): Claim | undefined {
  const { claim } = row.state;
  const slotMs = isoTimeMs(claim?.slot);
  const claimedMs = isoTimeMs(claim?.claimed_at);
  if (claim == null || slotMs === undefined || claimedMs === undefined) return undefined;
  const claimedAt = new Date(claimedMs);
  return newClaim(row, claim, { slot: new Date(slotMs), claimedAt, seenAt: claimedAt });
}

function newClaim(
  { agent, schedule, state }: StateRow,
  { token, job_id, source }: StoredClaim,
  { slot, claimedAt, seenAt }: Pick<Claim, "slot" | "claimedAt" | "seenAt">,
): Claim {
  return {
    agent,
    schedule,
    token,
    jobId: job_id,
    slot,
    source: source ?? undefined,
    seenAt,
    claimedAt,
    state: wholeState(state),
  };
}

/** Why a claim by hand was refused. */
export function readRefusal(answer: unknown): ClaimRefusal | undefined {
  return answer === "disabled" || answer === "already_running" || answer === "at_capacity"
    ? answer
    : undefined;
}

function dueOf({ paused_until }: Pick<Partial<ScheduleState>, "paused_until">, slotMs: number): number {
  return paused_until == null ? slotMs : Math.max(slotMs, isoTimeMs(paused_until) ?? 0);
}

/** The oldest first; of equals the one that was known first. Most are told in that order, and need only be looked at. */
function byAge({ claims, claimed, dues }: Found): readonly Claim[] {
  const compare = (a: number, b: number): number =>
    (dues[a] ?? 0) - (dues[b] ?? 0) || (claimed[a]?.id ?? 0) - (claimed[b]?.id ?? 0);
  const isInOrder = dues.every((_, index) => index === 0 || compare(index - 1, index) <= 0);
  if (isInOrder) return claims;
  return [...dues.keys()].toSorted(compare).flatMap((index) => claims[index] ?? []);
}
