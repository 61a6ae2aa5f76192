/**
 * A job log's lines: one JSON object when a job starts, one when it ends. What a scan needs stands at fixed places,
 * so that a line is parsed only when its record is asked for.
 */
import { dayInJobId } from "../../job-log/job-id.js";
import type { JobEnd, JobRecord, JobStart } from "../../job-log/job-log.js";
import { jobRecord, storedEnd, storedStart } from "../../job-log/job-record.js";

/** What a scan learns from a line without parsing it. */
export interface LineGlance {
  readonly id: string;
  /** `undefined` for the line of an end. */
  readonly startedAt: string | undefined;
  /** Who wrote it, as process-identity.ts signs; `undefined` where the line does not say. */
  readonly process: string | undefined;
}

export function startLine(start: JobStart, process: string): string {
  const { id, started_at, agent, schedule, trigger, slot, source, attempt, prompt, work_item, data, cause } =
    start;
  return JSON.stringify({
    id,
    status: "running",
    started_at,
    agent,
    schedule,
    trigger,
    slot,
    source,
    attempt,
    prompt,
    work_item,
    data,
    cause,
    process,
  });
}

export function endLine(
  id: string,
  { status, finished_at, error, summary, exit_code, response_body, work_item }: JobEnd,
  duration_ms: number | null,
  process: string,
): string {
  return JSON.stringify({
    id,
    status,
    finished_at,
    duration_ms,
    error,
    summary,
    exit_code,
    response_body,
    // Most know it from their start.
    work_item: work_item ?? undefined,
    process,
  });
}

const NEWLINE = 10;
const HEAD_BYTES = 100;
const FOOT_BYTES = 120;
const HEAD =
  /^\{"id":"(job-\d{4}-\d\d-\d\d-[0-9a-z]{6}(?:[0-9a-z]{2})?)","status":"(?:running","started_at":"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)"|(?:completed|failed|timeout|cancelled|interrupted)","finished_at":")/;
/** A line cut short does not end like this: inside a text the quotes would be escaped. */
const FOOT = /,"process":"([0-9a-f-]+)"\}$/;

/** `undefined` for a malformed line, such as one that was cut short. */
export function glanceAt(line: Buffer): LineGlance | undefined {
  const [, id, startedAt] = HEAD.exec(line.toString("latin1", 0, HEAD_BYTES)) ?? [];
  const [, process] = FOOT.exec(line.toString("latin1", Math.max(0, line.length - FOOT_BYTES))) ?? [];
  if (id !== undefined && process !== undefined) return { id, startedAt, process };
  return read(line);
}

const QUOTE = 34;
const LETTER_I = 105;
const ID_FROM = 7;
/** Where an id ends in a line, by its number of characters. */
const LONG_ID_TO = 30;
const SHORT_ID_TO = 28;

/** Where the id of the line ends that begins at `from`; `undefined` for a line in a different form. */
export function idEndAt(bytes: Buffer, from: number): number | undefined {
  if (bytes[from + 2] !== LETTER_I || bytes[from + 6] !== QUOTE) return undefined;
  // First: after a short id there is a quote in the place of the longer one's too.
  if (bytes[from + SHORT_ID_TO] === QUOTE) return from + SHORT_ID_TO;
  return bytes[from + LONG_ID_TO] === QUOTE ? from + LONG_ID_TO : undefined;
}

/** The slow way, for a line that Rota did not write. */
function read(line: Buffer): LineGlance | undefined {
  const value = parsed(line);
  if (typeof value !== "object" || value === null || !("id" in value) || typeof value.id !== "string")
    return undefined;
  if (dayInJobId(value.id) === undefined || !("status" in value)) return undefined;
  const process = "process" in value && typeof value.process === "string" ? value.process : undefined;
  if (value.status !== "running") {
    return storedEnd(value) === undefined ? undefined : { id: value.id, startedAt: undefined, process };
  }
  const start = storedStart(value);
  return start === undefined ? undefined : { id: value.id, startedAt: start.started_at, process };
}

/** In the form that Rota writes, with the agent's name and the schedule's as JSON. */
const SUBJECT = /"agent":("(?:[^"\\]|\\.)*"),"schedule":("(?:[^"\\]|\\.)*"|null),/y;
const SUBJECT_FROM = [91, 89];
const SUBJECT_TO = 600;

/** Which schedule the line of a start is about, as a text that no other schedule has. */
export function subjectOf(line: Buffer): string {
  const text = line.toString("latin1", 0, SUBJECT_TO);
  for (const from of SUBJECT_FROM) {
    SUBJECT.lastIndex = from;
    const [, agent, schedule] = SUBJECT.exec(text) ?? [];
    if (agent !== undefined) return `${agent}/${schedule}`;
  }
  const { agent, schedule } = storedStart(parsed(line)) ?? { agent: "", schedule: null };
  const subject = `${JSON.stringify(agent)}/${JSON.stringify(schedule)}`;
  // As the bytes of a file would be read above.
  return Buffer.from(subject, "utf8").toString("latin1");
}

/** The record that a job's lines tell; `undefined` where the first is damaged, still running where the second is. */
export function recordOf(start: Buffer, end: Buffer | undefined): JobRecord | undefined {
  const started = storedStart(parsed(start));
  if (started === undefined) return undefined;
  return jobRecord(started, end === undefined ? undefined : storedEnd(parsed(end)));
}

/**
 * Visits each line with its number from 1, or the lines of the jobs that are wanted. Returns the number of lines, and how many
 * bytes at the end have no newline yet: a crash cut them short, or a second process is writing them. Such a rest counts if it
 * is whole.
 */
export function scanLines(
  bytes: Buffer,
  visit: (glance: LineGlance, line: Buffer, lineNumber: number) => void,
  damaged: (lineNumber: number) => void = () => {},
  isWanted?: (id: string) => boolean,
): { readonly lines: number; readonly tornBytes: number } {
  let lineNumber = 0;
  let from = 0;
  while (from < bytes.length) {
    lineNumber++;
    const newline = bytes.indexOf(NEWLINE, from);
    const line = bytes.subarray(from, newline < 0 ? bytes.length : newline);
    from = newline + 1;
    const idTo = isWanted === undefined ? undefined : idEndAt(line, 0);
    if (idTo !== undefined && newline >= 0 && isWanted?.(line.toString("latin1", ID_FROM, idTo)) === false)
      continue;
    const glance = line.length === 0 ? undefined : glanceAt(line);
    if (glance !== undefined) visit(glance, line, lineNumber);
    else if (line.length > 0 && newline >= 0) damaged(lineNumber);
    if (newline < 0) return { lines: lineNumber, tornBytes: line.length };
  }
  return { lines: lineNumber, tornBytes: 0 };
}

function parsed(line: Buffer): unknown {
  try {
    return JSON.parse(line.toString("utf8"));
  } catch {
    return undefined;
  }
}
