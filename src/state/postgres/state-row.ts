/** A schedule's row and the state it stands for, there and back. Documents are checked: others may write to the table too. */
import { type Fields, isFields } from "../../fields.js";
import { isoText, isoTimeMs } from "../../iso-time.js";
import { isScheduleFields, NO_FIELDS, type ScheduleFields } from "../check-schedule.js";
import { claimableMs } from "../claim-rules.js";
import { numberedJobId } from "../jobs/job-id.js";
import { PLAN_SOURCES, type ScheduleState, type StoredClaim } from "../schedule-state.js";
import type { ScheduleKey } from "../state-store.js";
import { columnText, textOfColumn } from "./column-text.js";

/** A schedule as it was read. */
export interface StateRow extends ScheduleKey {
  /** `undefined` where there is no row yet. */
  readonly id: number | undefined;
  readonly version: number;
  readonly state: ScheduleFields;
  readonly owner: string | undefined;
  readonly seenMs: number | undefined;
}

/** What is read of state `s` and its schedule `n`, all of it as text. */
export const ROW_COLUMNS = `n.agent, n.schedule, s.id, s.version, s.token, s.source, s.owner, s.state,
  date_part('epoch', s.slot) * 1000 as slot, date_part('epoch', s.seen_at) * 1000 as seen,
  date_part('epoch', s.claimed_at) * 1000 as claimed`;

export function noRow({ agent, schedule }: ScheduleKey): StateRow {
  return {
    agent,
    schedule,
    id: undefined,
    version: 0,
    state: NO_FIELDS,
    owner: undefined,
    seenMs: undefined,
  };
}

/** A row as the columns above have it. */
export function readRow(row: Fields): StateRow {
  const { agent, schedule, id, version, owner, token, source } = row;
  const state = documentOf(row["state"]);
  const claimedMs = msOf(row["claimed"]);
  const claim = typeof token === "string" ? { token, claimedMs: claimedMs ?? 0 } : undefined;
  return {
    agent: textOfColumn(String(agent)),
    schedule: textOfColumn(String(schedule)),
    id: Number(id),
    version: Number(version),
    state:
      claim === undefined
        ? state
        : withClaim(state, storedClaim(claim, msOf(row["slot"]), source ?? state.next_run_source)),
    owner: typeof owner === "string" ? owner : undefined,
    seenMs: msOf(row["seen"]),
  };
}

/** What is known of a claim that was made just now, besides the state that it was made on. */
export interface ClaimFacts {
  readonly id: number;
  readonly version: number;
  readonly token: string;
  readonly slotMs: number;
  readonly claimedMs: number;
  readonly seenMs: number | undefined;
  readonly owner: string;
}

/** The row of such a claim. The document becomes part of it. */
export function claimedRow(
  { agent, schedule }: ScheduleKey,
  document: ScheduleFields,
  { id, version, token, slotMs, claimedMs, seenMs, owner }: ClaimFacts,
): StateRow {
  const claim = storedClaim({ token, claimedMs }, slotMs, document.next_run_source);
  return { agent, schedule, id, version, state: withClaim(document, claim), owner, seenMs };
}

/** What no state can be resets this one schedule, and its claim stays fenced by its token. */
function documentOf(text: unknown): ScheduleFields {
  return typeof text === "string" ? checkedDocument(JSON.parse(text)) : NO_FIELDS;
}

/** Documents that were told as one text, with commas between them. */
export function documentsOf(texts: unknown): readonly ScheduleFields[] {
  if (typeof texts !== "string") return [];
  const documents: unknown[] = JSON.parse(`[${texts}]`);
  return documents.map(checkedDocument);
}

function checkedDocument(fields: unknown): ScheduleFields {
  return isFields(fields) && isScheduleFields(fields) ? fields : NO_FIELDS;
}

/** Who has a claim is running, unless somebody disabled it meanwhile. */
function withClaim(state: ScheduleFields, claim: StoredClaim): ScheduleFields {
  const status = state.status === "disabled" ? "disabled" : "running";
  // A document that was read just now is nobody else's.
  return Object.assign(state === NO_FIELDS ? {} : state, { status, claim });
}

function storedClaim(
  { token, claimedMs }: { readonly token: string; readonly claimedMs: number },
  slotMs: number | undefined,
  source: unknown,
): StoredClaim {
  const claimedAt = new Date(claimedMs);
  return {
    token,
    job_id: numberedJobId(claimedAt, Number(token)),
    slot: isoText(new Date(slotMs ?? claimedMs)),
    source: PLAN_SOURCES.find((known) => known === source) ?? null,
    claimed_at: isoText(claimedAt),
  };
}

/** What a row holds of a state: its claim has columns of its own, which say that it is running. */
export function documentText(state: Partial<ScheduleState>): string {
  // What has none, as most have that are written, needs no copy without it.
  if (state.claim === undefined) return JSON.stringify(state);
  const { claim, ...document } = state;
  const isRunning = claim !== null && document.status === "running";
  return JSON.stringify(isRunning ? Object.assign(document, { status: "idle" }) : document);
}

/** When a row is due that has this state; `null` for never. */
export function dueColumn(state: Partial<ScheduleState>): number | null {
  return claimableMs(state) ?? null;
}

export function slotColumn(state: Partial<ScheduleState>): number | null {
  return isoTimeMs(state.next_run_at) ?? null;
}

/** The keys of schedules as two columns. */
export function keyColumns(keys: readonly ScheduleKey[]): [string[], string[]] {
  return [keys.map(({ agent }) => columnText(agent)), keys.map(({ schedule }) => columnText(schedule))];
}

/** A time in milliseconds, as it comes from the database: a number that was divided and multiplied. */
export function msOf(value: unknown): number | undefined {
  return value === null || value === undefined ? undefined : Math.round(Number(value));
}
