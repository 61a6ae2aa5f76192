/** What holds a whole agent back: who paused it, since when, until when and why. Pure. */
import { isFields } from "../fields.js";
import { quote } from "../errors.js";
import { isoTimeMs } from "../iso-time.js";
import { invalidState } from "./errors.js";

/** `user`: a person or a program. `failure`: a run failed. `indeterminate`: nobody knows what a run has changed. */
export const PAUSE_CAUSES = ["user", "failure", "indeterminate"] as const;

/** Why none of an agent's schedules runs, with the keys as the state file spells them. All times are ISO texts. */
export interface AgentPause {
  readonly by: (typeof PAUSE_CAUSES)[number];
  readonly since: string;
  /** When it ends by itself. @default never */
  readonly until?: string | null | undefined;
  /** The job that caused it. */
  readonly job_id?: string | null | undefined;
  readonly note?: string | null | undefined;
}

/** The pause of an agent as it is written: `null` ends it, `undefined` leaves it as it is. */
export type PauseDecision = (pause: AgentPause | undefined) => AgentPause | null | undefined;

/** The pause that is kept in a value from outside. What cannot be read still holds the agent back: a person wrote it. */
export function readPause(value: unknown): AgentPause | undefined {
  if (value === null || value === undefined) return undefined;
  if (isPause(value)) return value;
  return { by: "user", since: new Date(0).toISOString(), note: `unreadable: ${quote(value)}` };
}

/** Throws a StateError for a pause that no store could keep. */
export function checkPause(pause: AgentPause): AgentPause {
  const problem = problemOfPause(pause);
  if (problem !== undefined) throw invalidState(`Invalid pause: ${problem}.`);
  const { by, since, until, job_id, note } = pause;
  const rest = Object.entries({ until, job_id, note }).filter(([, value]) => value != null);
  return { by, since, ...Object.fromEntries(rest) };
}

/** When a pause ends: `-Infinity` without one, `Infinity` for one that does not end by itself. */
export function pauseEndMs(pause: AgentPause | undefined): number {
  if (pause === undefined) return -Infinity;
  return isoTimeMs(pause.until) ?? Infinity;
}

function isPause(value: unknown): value is AgentPause {
  return problemOfPause(value) === undefined;
}

const TIME = 'expected an ISO time such as "2026-03-01T09:00:00Z"';
const CAUSES: ReadonlySet<unknown> = new Set(PAUSE_CAUSES);

function problemOfPause(value: unknown): string | undefined {
  if (!isFields(value)) return `it is ${quote(value)}, expected a map with by and since`;
  const { by, since, until, job_id, note } = value;
  if (!CAUSES.has(by)) return `by is ${quote(by)}, expected one of ${PAUSE_CAUSES.join(", ")}`;
  if (!isTime(since)) return `since is ${quote(since)}, ${TIME}`;
  if (until != null && !isTime(until)) return `until is ${quote(until)}, ${TIME}`;
  for (const [key, text] of Object.entries({ job_id, note }))
    if (text != null && typeof text !== "string") return `${key} is ${quote(text)}, expected text`;
  return undefined;
}

function isTime(value: unknown): boolean {
  return typeof value === "string" && isoTimeMs(value) !== undefined;
}
