/** A schedule's row and the state it stands for, there and back; the text of that is state-document.ts's. */
import type { Fields } from "../../../fields.js";
import { isoText, isoTimeMs } from "../../../iso-time.js";
import { NO_FIELDS, type ScheduleFields } from "../../validate-state.js";
import { claimableMs } from "../../claim-rules.js";
import { numberedJobId } from "../../job-log/job-id.js";
import { PLAN_SOURCES, type PlanSource, type ScheduleState, type StoredClaim } from "../../schedule-state.js";
import type { ScheduleKey } from "../../store.js";
import { columnText, textOfColumn } from "./column-text.js";
import { documentOf } from "./state-document.js";

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
  const claimedAt = new Date(msOf(row["claimed"]) ?? 0);
  const slot = new Date(msOf(row["slot"]) ?? claimedAt);
  return {
    agent: textOfColumn(String(agent)),
    schedule: textOfColumn(String(schedule)),
    id: Number(id),
    version: Number(version),
    state:
      typeof token === "string"
        ? withClaim(state, storedClaim(token, slot, claimedAt, source ?? state.next_run_source))
        : state,
    owner: typeof owner === "string" ? owner : undefined,
    seenMs: msOf(row["seen"]),
  };
}

/** Who has a claim is running, unless somebody disabled it meanwhile. */
export function withClaim(state: ScheduleFields, claim: StoredClaim): ScheduleFields {
  // A document that was read just now is nobody else's.
  const mine: { status?: ScheduleState["status"]; claim?: ScheduleState["claim"] } =
    state === NO_FIELDS ? {} : state;
  mine.status = state.status === "disabled" ? "disabled" : "running";
  mine.claim = claim;
  return mine;
}

const SOURCES: ReadonlySet<unknown> = new Set(PLAN_SOURCES);

function isPlanSource(value: unknown): value is PlanSource {
  return SOURCES.has(value);
}

/** A claim as states have it. */
export function storedClaim(token: string, slot: Date, claimedAt: Date, source: unknown): StoredClaim {
  return {
    token,
    job_id: numberedJobId(claimedAt, Number(token)),
    slot: isoText(slot),
    source: isPlanSource(source) ? source : null,
    claimed_at: isoText(claimedAt),
  };
}

/** When a row is due that has this state; `null` for never. */
export function dueColumn(state: Partial<ScheduleState>): number | null {
  return claimableMs(state) ?? null;
}

export function slotColumn(state: Partial<ScheduleState>): number | null {
  return isoTimeMs(state.next_run_at) ?? null;
}

/** Why a row that nobody has claimed is due, if somebody asked for that, or a job was cut off: not by the schedule's own rule. */
export function sourceColumn({ next_run_source: source }: Partial<ScheduleState>): PlanSource | undefined {
  return source === "manual" || source === "catch-up" ? source : undefined;
}

/** The keys of schedules as two columns. */
export function keyColumns(keys: readonly ScheduleKey[]): [string[], string[]] {
  return [keys.map(({ agent }) => columnText(agent)), keys.map(({ schedule }) => columnText(schedule))];
}

/** A time in milliseconds, as it comes from the database: a number that was divided and multiplied. */
export function msOf(value: unknown): number | undefined {
  return value === null || value === undefined ? undefined : Math.round(Number(value));
}
