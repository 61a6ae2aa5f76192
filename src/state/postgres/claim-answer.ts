/** What the database answers to who claims: claims, slots that wait, and what time it is there. */
import type { Fields } from "../../fields.js";
import { isoTimeMs } from "../../iso-time.js";
import type { ScheduleFields } from "../check-schedule.js";
import type { Claim, ClaimRefusal, ScheduleKey, SkippedSlot } from "../state-store.js";
import { wholeState } from "../whole-state.js";
import { claimedRow, documentOf, msOf, type StateRow } from "./state-row.js";

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
  readonly dueMs: number;
}

export interface ClaimQuestion {
  readonly node: string;
  /** Which schedule has an id. */
  readonly keyOf: (id: number) => ScheduleKey | undefined;
  /** When slots were last left for want of room: what was due by then was seen then. */
  readonly leftMs: number | undefined;
}

export function readAnswer(
  answer: readonly Fields[],
  { node, keyOf, leftMs = -Infinity }: ClaimQuestion,
): ClaimAnswer {
  const looked = answer.at(-1);
  const atMs = looked?.["kind"] === "l" ? msOf(looked["seen"]) : undefined;
  const found: Found[] = [];
  const skipped: SkippedSlot[] = [];
  for (const fields of answer) {
    const key = keyOf(Number(fields["id"]));
    if (key === undefined) continue;
    if (fields["kind"] === "c") {
      const row = claimedRow(key, fields, atMs ?? 0, node);
      found.push({ row, dueMs: dueOf(row.state, fields) });
    } else if (fields["kind"] === "w") {
      const state = documentOf(fields["state"]);
      // What was left before for want of room has been waiting since then.
      const isNew = msOf(fields["seen"]) === atMs && dueOf(state, fields) > leftMs;
      if (isNew) skipped.push(skipOf(key, state, fields));
    }
  }
  found.sort(byAge);
  return {
    claims: found.flatMap(
      ({ row, dueMs }) => claimOf(row, row.seenMs ?? (dueMs <= leftMs ? leftMs : undefined)) ?? [],
    ),
    claimed: found.map(({ row }) => row),
    skipped: skipped.toSorted((a, b) => a.slot.getTime() - b.slot.getTime()),
    atMs,
    nextMs: msOf(looked?.["slot"]),
    hasLines: looked?.["version"] === "1",
    latestChange: Number(looked?.["id"] ?? 0),
  };
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

function skipOf({ agent, schedule }: ScheduleKey, state: ScheduleFields, row: Fields): SkippedSlot {
  const slot = new Date(msOf(row["slot"]) ?? 0);
  const source = state.next_run_source ?? undefined;
  return { agent, schedule, slot, source, reason: "at_capacity" };
}

function dueOf({ paused_until }: ScheduleFields, { slot }: Fields): number {
  const slotMs = msOf(slot) ?? 0;
  return paused_until == null ? slotMs : Math.max(slotMs, isoTimeMs(paused_until) ?? 0);
}

/** Of equals the one that was known first. */
function byAge(a: Found, b: Found): number {
  return a.dueMs - b.dueMs || Number(a.row.id) - Number(b.row.id);
}
