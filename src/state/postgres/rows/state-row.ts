/** Converts between a schedule's row and its state. The text of the state is in state-document.ts. */
import type { Fields } from "../../../fields.js";
import { isoText, isoTimeMs } from "../../../iso-time.js";
import { NO_FIELDS, type ScheduleFields } from "../../validate-state.js";
import { backfillSlot, claimableMs } from "../../claim-rules.js";
import { numberedJobId } from "../../job-log/job-id.js";
import { PLAN_SOURCES, type PlanSource, type ScheduleState, type StoredClaim } from "../../schedule-state.js";
import type { ScheduleKey } from "../../store.js";
import { columnText, textOfColumn } from "./column-text.js";
import { documentOf } from "./state-document.js";

/** The row of a schedule. */
export interface StateRow extends ScheduleKey {
  /** `undefined` when there is no row yet. */
  readonly id: number | undefined;
  readonly version: number;
  readonly state: ScheduleFields;
  readonly owner: string | undefined;
  readonly seenMs: number | undefined;
}

/** The columns of state `s` and its schedule `n`, read as text. */
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

/** A row with the columns above. */
export function readRow(row: Fields): StateRow {
  const { agent, schedule, id, version, owner, token, source } = row;
  const state = documentOf(row["state"]);
  const claimedAt = new Date(msOf(row["claimed"]) ?? 0);
  const slot = new Date(msOf(row["slot"]) ?? claimedAt);
  return {
    agent: textOfColumn(String(agent)),
    schedule: textOfColumn(String(schedule)),
    id: Number(id),
    version: Number(version),
    state:
      typeof token === "string"
        ? withClaim(state, storedClaim(token, slot, claimedAt, source ?? plannedSource(state)))
        : state,
    owner: typeof owner === "string" ? owner : undefined,
    seenMs: msOf(row["seen"]),
  };
}

/** Adds a claim. The schedule is running then, unless it is disabled. */
export function withClaim(state: ScheduleFields, claim: StoredClaim): ScheduleFields {
  // The document was parsed just now, so that it may be changed in place.
  const mine: { status?: ScheduleState["status"]; claim?: ScheduleState["claim"] } =
    state === NO_FIELDS ? {} : state;
  mine.status = state.status === "disabled" ? "disabled" : "running";
  mine.claim = claim;
  return mine;
}

const SOURCES: ReadonlyMap<unknown, PlanSource> = new Map(PLAN_SOURCES.map((source) => [source, source]));

/** The claim in a state. */
export function storedClaim(token: string, slot: Date, claimedAt: Date, source: unknown): StoredClaim {
  return {
    token,
    job_id: numberedJobId(claimedAt, Number(token)),
    slot: isoText(slot),
    source: SOURCES.get(source) ?? null,
    claimed_at: isoText(claimedAt),
  };
}

/** When a schedule with this state is due; `null` for never. */
export function dueColumn(state: Partial<ScheduleState>): number | null {
  return claimableMs(state) ?? null;
}

/** The slot that runs next, where that is not when it runs: it is tried again, or one of a backfill. */
export function pastSlot(state: Partial<ScheduleState>): string | undefined {
  return state.retry?.slot ?? (state.backfill == null ? undefined : backfillSlot(state));
}

/** The slot that runs next. */
export function slotColumn(state: Partial<ScheduleState>): number | null {
  return isoTimeMs(pastSlot(state) ?? state.next_run_at) ?? null;
}

/** Why the slot that runs next is run. */
export function plannedSource({ retry, next_run_source }: Partial<ScheduleState>): PlanSource | undefined {
  return retry == null ? (next_run_source ?? undefined) : "retry";
}

/** Why an unclaimed schedule is due, for a request or a slot that is tried again; `undefined` for its own times. */
export function sourceColumn(state: Partial<ScheduleState>): PlanSource | undefined {
  const source = plannedSource(state);
  return source === "manual" || source === "catch-up" || source === "retry" ? source : undefined;
}

/** The agents and the names of schedules, as two arrays. */
export function keyColumns(keys: readonly ScheduleKey[]): [string[], string[]] {
  return [keys.map(({ agent }) => columnText(agent)), keys.map(({ schedule }) => columnText(schedule))];
}

/** A time in milliseconds from the database, where a division may have left a fraction. */
export function msOf(value: unknown): number | undefined {
  return value === null || value === undefined ? undefined : Math.round(Number(value));
}
