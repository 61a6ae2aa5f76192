/** What the database answers to who claims: claims, slots that wait, and what time it is there. */
import type { Fields } from "../../fields.js";
import { isoTimeMs } from "../../iso-time.js";
import type { ScheduleFields } from "../check-schedule.js";
import type { Claim, ClaimRefusal, ScheduleKey, SkippedSlot } from "../state-store.js";
import { wholeState } from "../whole-state.js";
import { listOf } from "./column-text.js";
import { claimedRow, documentsOf, msOf, type StateRow } from "./state-row.js";

export interface ClaimAnswer {
  /** The oldest slot first. */
  readonly claims: readonly Claim[];
  /** The rows of the claims. */
  readonly claimed: readonly StateRow[];
  readonly skipped: readonly SkippedSlot[];
  /** When it was, by the clock that decided; `undefined` when there are leases that have ended, and nothing was done. */
  readonly atMs: number | undefined;
  /** When the next slot comes due that was not due yet; `undefined` for never. */
  readonly nextMs: number | undefined;
  /** Whether somebody waits for an agent's capacity. */
  readonly hasLines: boolean;
  /** The number of the latest change by somebody who is no node. */
  readonly latestChange: number;
}

interface Found {
  readonly row: StateRow;
  readonly claim: Claim;
  readonly dueMs: number;
}

export interface ClaimQuestion {
  readonly node: string;
  /** Which schedule has an id. */
  readonly keyOf: (id: number) => ScheduleKey | undefined;
  /** When slots were last left for want of room: what was due by then was seen then. */
  readonly leftMs: number | undefined;
}

/** The one row that `claim_due` answers with, all of it as text. */
export function readAnswer(answer: Fields, question: ClaimQuestion): ClaimAnswer {
  const atMs = msOf(answer["at_ms"]);
  const found = atMs === undefined ? [] : foundIn(answer, atMs, question).toSorted(byAge);
  return {
    claims: found.map(({ claim }) => claim),
    claimed: found.map(({ row }) => row),
    skipped: skippedIn(answer, atMs, question).toSorted((a, b) => a.slot.getTime() - b.slot.getTime()),
    atMs,
    nextMs: msOf(answer["next_ms"]),
    hasLines: answer["has_lines"] === "t",
    latestChange: Number(answer["latest_change"] ?? 0),
  };
}

function foundIn(
  answer: Fields,
  atMs: number,
  { node, keyOf, leftMs = -Infinity }: ClaimQuestion,
): readonly Found[] {
  const documents = documentsOf(answer["states"]);
  const [versions, tokens] = [listOf(answer["versions"]), listOf(answer["tokens"])];
  const [slots, seen] = [listOf(answer["slots"]), listOf(answer["seen"])];
  const found: Found[] = [];
  for (const [index, id] of listOf(answer["ids"]).entries()) {
    const key = keyOf(Number(id));
    const document = documents[index];
    const token = tokens[index];
    if (key === undefined || document === undefined || token === undefined) continue;
    const slotMs = Number(slots[index]);
    const dueMs = dueOf(document, slotMs);
    const seenMs = timeOf(seen[index]) ?? (dueMs <= leftMs ? leftMs : undefined);
    const facts = { id: Number(id), version: Number(versions[index]), token, slotMs, claimedMs: atMs };
    const row = claimedRow(key, document, { ...facts, seenMs, owner: node });
    const claim = claimOf(row, seenMs);
    if (claim !== undefined) found.push({ row, claim, dueMs });
  }
  return found;
}

function skippedIn(
  answer: Fields,
  atMs: number | undefined,
  { keyOf, leftMs = -Infinity }: ClaimQuestion,
): readonly SkippedSlot[] {
  const documents = documentsOf(answer["lined_states"]);
  const [slots, seen] = [listOf(answer["lined_slots"]), listOf(answer["lined_seen"])];
  const skipped: SkippedSlot[] = [];
  for (const [index, id] of listOf(answer["lined_ids"]).entries()) {
    const key = keyOf(Number(id));
    const document = documents[index];
    if (key === undefined || document === undefined) continue;
    const slotMs = Number(slots[index]);
    // What was left before for want of room has been waiting since then.
    if (timeOf(seen[index]) !== atMs || dueOf(document, slotMs) <= leftMs) continue;
    const source = document.next_run_source ?? undefined;
    skipped.push({ ...key, slot: new Date(slotMs), source, reason: "at_capacity" });
  }
  return skipped;
}

/** The claim of a row that has one, and when its slot was first seen, if that was before. */
export function claimOf({ agent, schedule, state }: StateRow, seenMs: number = Infinity): Claim | undefined {
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
    seenAt: new Date(isManual ? claimedMs : Math.min(seenMs, claimedMs)),
    claimedAt: new Date(claimedMs),
    state: wholeState(state),
  };
}

/** Why a claim by hand was refused. */
export function readRefusal(answer: unknown): ClaimRefusal | undefined {
  return answer === "disabled" || answer === "already_running" || answer === "at_capacity"
    ? answer
    : undefined;
}

function timeOf(text: string | undefined): number | undefined {
  return text === undefined || text === "NULL" ? undefined : Number(text);
}

function dueOf({ paused_until }: ScheduleFields, slotMs: number): number {
  return paused_until == null ? slotMs : Math.max(slotMs, isoTimeMs(paused_until) ?? 0);
}

/** Of equals the one that was known first. */
function byAge(a: Found, b: Found): number {
  return a.dueMs - b.dueMs || Number(a.row.id) - Number(b.row.id);
}
