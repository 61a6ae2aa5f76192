/** A schedule's row and the state it stands for, there and back. Values are checked: others may write to the table too. */
import { type Fields, isFields } from "../../fields.js";
import { isoText, isoTimeMs } from "../../iso-time.js";
import { isScheduleFields, NO_FIELDS, type ScheduleFields } from "../check-schedule.js";
import type { ScheduleState } from "../schedule-state.js";
import type { ScheduleKey } from "../state-store.js";
import { columnText, textOfColumn } from "./column-text.js";

/** A schedule as it was read. */
export interface StateRow extends ScheduleKey {
  /** `undefined` where there is no row yet. */
  readonly id: string | undefined;
  readonly version: number;
  readonly state: ScheduleFields;
  readonly token: string | undefined;
  readonly owner: string | undefined;
  readonly dueMs: number;
  readonly seenMs: number | undefined;
}

export function noRow({ agent, schedule }: ScheduleKey): StateRow {
  return {
    agent,
    schedule,
    id: undefined,
    version: 0,
    state: NO_FIELDS,
    token: undefined,
    owner: undefined,
    dueMs: Infinity,
    seenMs: undefined,
  };
}

export function readRow(row: Fields): StateRow {
  return {
    agent: textOfColumn(String(row["agent"])),
    schedule: textOfColumn(String(row["schedule"])),
    id: String(row["id"]),
    version: Number(row["version"]),
    state: row["rest"] === null ? NO_FIELDS : stateOf(row),
    token: optionalText(row["token"]),
    owner: numberText(row["owner"]),
    dueMs: msOf(row["due_at"]) ?? Infinity,
    seenMs: msOf(row["seen_at"]),
  };
}

/** What a row holds of the state, in the order of the parameters of the functions that write. */
export interface RowValues {
  readonly status: string;
  readonly nextRunMs: number | null;
  readonly source: string | null;
  readonly pauseMs: number | null;
  readonly rest: string;
}

export function rowValues(state: Partial<ScheduleState>): RowValues {
  const { status, next_run_at, next_run_source, paused_until, claim: _, ...rest } = state;
  return {
    status: status ?? "idle",
    nextRunMs: isoTimeMs(next_run_at) ?? null,
    source: next_run_source ?? null,
    pauseMs: isoTimeMs(paused_until) ?? null,
    rest: JSON.stringify(rest),
  };
}

/** The keys of schedules as two columns. */
export function keyColumns(keys: readonly ScheduleKey[]): [string[], string[]] {
  return [keys.map(({ agent }) => columnText(agent)), keys.map(({ schedule }) => columnText(schedule))];
}

function stateOf(row: Fields): ScheduleFields {
  const rest = isFields(row["rest"]) ? row["rest"] : {};
  const state: Record<string, unknown> = Object.assign({ status: row["status"] }, rest);
  set(state, "next_run_at", timeText(row["next_run_at"]));
  set(state, "next_run_source", optionalText(row["next_run_source"]));
  set(state, "paused_until", timeText(row["paused_until"]));
  set(state, "claim", claimOf(row));
  // What no state can be resets this one schedule, and its claim stays fenced by its token.
  return isScheduleFields(state) ? state : NO_FIELDS;
}

function claimOf(row: Fields): Fields | undefined {
  const { token, job_id, source } = row;
  if (token === null) return undefined;
  return { token, job_id, slot: timeText(row["slot"]), source, claimed_at: timeText(row["claimed_at"]) };
}

function set(state: Record<string, unknown>, key: string, value: unknown): void {
  if (value !== undefined) state[key] = value;
}

function optionalText(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** Numbers that may be large come as text. */
function numberText(value: unknown): string | undefined {
  return typeof value === "string" || typeof value === "number" ? String(value) : undefined;
}

function timeText(value: unknown): string | undefined {
  const ms = msOf(value);
  return ms === undefined ? undefined : isoText(new Date(ms));
}

/** A pool of the caller's may have been taught to leave times as text. */
export function msOf(value: unknown): number | undefined {
  if (value instanceof Date) return value.getTime();
  if (typeof value !== "string") return undefined;
  const ms = Date.parse(value);
  return Number.isNaN(ms) ? undefined : ms;
}
