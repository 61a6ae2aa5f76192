/**
 * The state file as a whole: its agents, each with its text, and a draft of the changes that are written together. The
 * text is YAML a person can read and edit, in one fixed layout that `strict-reader` reads back; each agent is rendered
 * alone, so that a change costs one agent.
 */
import { applyPatch, type Fields, isFields } from "../../../fields.js";
import type { StateDraft } from "../../operations.js";
import { SCHEDULE_KEYS, type ScheduleState, type ScheduleStatePatch } from "../../schedule-state.js";
import type { ScheduleKey } from "../../store.js";
import { NO_FIELDS, quotedText, type ScheduleFields } from "../../validate-state.js";
import type { NewDocument } from "../state-file.js";

/** An agent with the text that says so. */
export interface AgentEntry extends AgentFields<ScheduleFields> {
  readonly text: Buffer;
}

export interface StateDocument {
  /** Top-level keys other than `agents`. */
  readonly head: Fields;
  /** Changed in place when a change has become durable: copying it would cost more than the change. */
  readonly agents: Map<string, AgentEntry>;
}

export function emptyDocument(): StateDocument {
  return { head: {}, agents: new Map() };
}

/** The last line of the file. A file that announces it and does not have it was cut short. */
export const END_MARK = "# end of state\n";
/** What the first line says in a file with an end mark. */
export const ANNOUNCEMENT = 'The last line is "# end of state".';
/** The first line of the file. */
export const INTRODUCTION: string = `# The state of Rota's schedules. Edits are noticed; keys Rota does not know are kept. ${ANNOUNCEMENT}\n`;
const END_BYTES = Buffer.from(END_MARK);

/** The agent with its text, or with a `text` that is known to say so. */
export function agentEntry(
  agent: AgentFields<ScheduleFields>,
  text: Buffer = Buffer.from(renderAgent(agent)),
): AgentEntry {
  const { name, other, schedules } = agent;
  return { name, other, schedules, text };
}

/** The bytes of the file, with `changed` agents in place of the document's own. */
export function renderDocument(
  { head, agents }: StateDocument,
  changed: ReadonlyMap<string, AgentEntry> = new Map(),
): Buffer {
  const chunks: Buffer[] = [];
  for (const [name, entry] of agents) chunks.push((changed.get(name) ?? entry).text);
  for (const [name, entry] of changed) if (!agents.has(name)) chunks.push(entry.text);
  const opening = chunks.length === 0 ? "agents: {}\n" : "agents:\n";
  const start = Buffer.from(`${INTRODUCTION}${renderFields(head, "")}${opening}`);
  return Buffer.concat([start, ...chunks, END_BYTES]);
}

/** Changes to a document, collected before they are written: a batch of patches becomes one new text. */
export class DocumentDraft implements StateDraft {
  readonly #document: StateDocument;
  readonly #schedules = new Map<string, Map<string, ScheduleFields>>();
  /** The schedules that were patched. */
  readonly touched: ScheduleKey[] = [];

  constructor(document: StateDocument) {
    this.#document = document;
  }

  read({ agent, schedule }: ScheduleKey): Partial<ScheduleState> {
    const schedules = this.#schedules.get(agent) ?? this.#document.agents.get(agent)?.schedules;
    return schedules?.get(schedule) ?? NO_FIELDS;
  }

  patch(key: ScheduleKey, patch: ScheduleStatePatch): Partial<ScheduleState> {
    const { agent, schedule } = key;
    const drafted = this.#schedules.get(agent);
    const schedules = drafted ?? this.#document.agents.get(agent)?.schedules;
    const before = schedules?.get(schedule) ?? NO_FIELDS;
    const after = applyPatch(before, patch);
    if (after === before) return before;
    if (drafted === undefined) this.#schedules.set(agent, new Map(schedules).set(schedule, after));
    else drafted.set(schedule, after);
    this.touched.push(key);
    return after;
  }

  *keys(): Iterable<ScheduleKey> {
    for (const { name: agent, schedules } of this.#document.agents.values())
      for (const schedule of schedules.keys()) yield { agent, schedule };
  }

  /** The document's new text; `undefined` when no patch changed anything, unless it is wanted `anyway`. */
  finish(anyway = false): NewDocument | undefined {
    if (this.#schedules.size === 0 && !anyway) return undefined;
    const document = this.#document;
    const changed = new Map<string, AgentEntry>();
    for (const [name, schedules] of this.#schedules) {
      const other = document.agents.get(name)?.other ?? NO_FIELDS;
      changed.set(name, agentEntry({ name, other, schedules }));
    }
    return { bytes: renderDocument(document, changed), document, changed };
  }
}

/** An agent as the file has it: its schedules, and all its other keys as they stand. */
export interface AgentFields<Schedule = Fields> {
  readonly name: string;
  readonly other: Fields;
  readonly schedules: ReadonlyMap<string, Schedule>;
}

/** Read as text by every YAML version without quotes: a word, an interval, a time. */
export const PLAIN_TEXT: RegExp =
  /^(?:[A-Za-z_][\w./-]*|\d+[smhd]|\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d))$/;
/** Words that some YAML version takes for something else than text. */
export const RESERVED_WORD: RegExp = /^(?:null|true|false|yes|no|on|off|y|n)$/i;
export const LONGEST_RESERVED: number = "false".length;
/** The chunk of one agent. The keys of ours in its schedules must have been checked. */
export function renderAgent({ name, other, schedules }: AgentFields<ScheduleFields>): string {
  const start = `  ${renderText(name)}:`;
  let text = start;
  for (const key of Object.keys(other)) text += fieldText(key, other[key], "\n    ");
  if (schedules.size > 0) text += "\n    schedules:";
  for (const [schedule, state] of schedules) text += `\n      ${renderText(schedule)}:${stateText(state)}`;
  return text === start ? `${start}${EMPTY}\n` : `${text}\n`;
}

/** The lines of a map, one key each, and a map within a map two spaces further in. */
export function renderFields(fields: Fields, indent: string): string {
  let text = "";
  for (const key of Object.keys(fields)) text += fieldText(key, fields[key], `\n${indent}`);
  return text === "" ? "" : `${text.slice(1)}\n`;
}

/** The keys of most states, claims and last jobs. */
const COMMON_KEYS: ReadonlySet<string> = new Set([
  "status",
  "last_run_at",
  "last_started_at",
  "last_completed_at",
  "next_run_at",
  "next_run_source",
  "last_error",
  "failure_count",
  "last_job",
  "claim",
]);
const KNOWN_KEYS: ReadonlySet<string> = new Set(SCHEDULE_KEYS);
const RARE_KEYS = SCHEDULE_KEYS.filter((key) => !COMMON_KEYS.has(key));
const CLAIM_KEYS: ReadonlySet<string> = new Set(["token", "job_id", "slot", "source", "claimed_at"]);
const JOB_KEYS: ReadonlySet<string> = new Set(["id", "slot", "trigger", "attempt", "status"]);

/**
 * The lines of a state: known keys in their order, then unknown keys. The common keys are written out, because a loop
 * over a list of keys takes three times as long, in a burst and right after a start above all. A time, a count and a
 * word from a list need no quotes.
 */
function stateText(state: ScheduleFields): string {
  const { last_error: error, last_job: job, claim } = state;
  let text = "";
  if (state.status !== undefined) text += `\n        status: ${state.status}`;
  if (state.last_run_at !== undefined) text += `\n        last_run_at: ${state.last_run_at}`;
  if (state.last_started_at !== undefined) text += `\n        last_started_at: ${state.last_started_at}`;
  if (state.last_completed_at !== undefined)
    text += `\n        last_completed_at: ${state.last_completed_at}`;
  if (state.next_run_at !== undefined) text += `\n        next_run_at: ${state.next_run_at}`;
  if (state.next_run_source !== undefined) text += `\n        next_run_source: ${state.next_run_source}`;
  if (error !== undefined) text += `\n        last_error: ${error === null ? null : renderText(error)}`;
  if (state.failure_count !== undefined) text += `\n        failure_count: ${state.failure_count}`;
  const isCommon = hasOnly(state, COMMON_KEYS);
  if (!isCommon) for (const key of RARE_KEYS) text += fieldText(key, state[key], "\n        ");
  if (job != null && hasOnly(job, JOB_KEYS)) {
    text += `\n        last_job:\n          id: ${renderText(job.id)}`;
    if (job.slot !== undefined) text += `\n          slot: ${job.slot}`;
    if (job.trigger !== undefined) text += `\n          trigger: ${job.trigger}`;
    if (job.attempt !== undefined) text += `\n          attempt: ${job.attempt}`;
    text += `\n          status: ${job.status}`;
  } else text += fieldText("last_job", job, "\n        ");
  if (claim != null && hasOnly(claim, CLAIM_KEYS)) {
    text += `\n        claim:\n          token: ${renderText(claim.token)}\n          job_id: ${renderText(claim.job_id)}`;
    text += `\n          slot: ${claim.slot}`;
    if (claim.source !== undefined) text += `\n          source: ${claim.source}`;
    if (claim.claimed_at !== undefined) text += `\n          claimed_at: ${claim.claimed_at}`;
  } else text += fieldText("claim", claim, "\n        ");
  if (!isCommon)
    for (const key of Object.keys(state))
      if (!KNOWN_KEYS.has(key)) text += fieldText(key, state[key], "\n        ");
  return text === "" ? EMPTY : text;
}

function hasOnly(fields: object, keys: ReadonlySet<string>): boolean {
  for (const key in fields) if (!keys.has(key)) return false;
  return true;
}

/** An empty map. */
const EMPTY = " {}";

/** A key with its value, and a map within a map two spaces further in; nothing for a key without a value. */
function fieldText(key: string, value: unknown, indent: string): string {
  if (value === undefined) return "";
  const start = `${indent}${renderText(key)}:`;
  if (!isFields(value)) return `${start} ${renderInline(value)}`;
  let text = "";
  for (const inner of Object.keys(value)) text += fieldText(inner, value[inner], `${indent}  `);
  return start + (text === "" ? EMPTY : text);
}

/** Text without quotes where every YAML version reads it as text. */
function renderText(text: string): string {
  const isPlain = PLAIN_TEXT.test(text) && (text.length > LONGEST_RESERVED || !RESERVED_WORD.test(text));
  return isPlain ? text : quotedText(text);
}

/** A value on one line. */
export function renderInline(value: unknown): string {
  if (typeof value === "string") return renderText(value);
  if (typeof value === "number") return renderNumber(value);
  if (Array.isArray(value)) return `[${Array.from(value, renderFlow).join(", ")}]`;
  if (isFields(value)) {
    const entries = Object.entries(value).filter(([, inner]) => inner !== undefined);
    return `{${entries.map(([key, inner]) => `${quotedText(key)}: ${renderFlow(inner)}`).join(", ")}}`;
  }
  return String(value);
}

/** Within brackets a comma ends plain text, so all text is quoted there. */
function renderFlow(value: unknown): string {
  return typeof value === "string" ? quotedText(value) : renderInline(value ?? null);
}

function renderNumber(value: number): string {
  if (Number.isNaN(value)) return ".nan";
  if (!Number.isFinite(value)) return value > 0 ? ".inf" : "-.inf";
  if (Object.is(value, -0)) return "-0.0";
  if (Number.isSafeInteger(value)) return String(value);
  // Otherwise the last digits of a large one would be rounded to zeros.
  return Number.isInteger(value) && Math.abs(value) < 1e21 ? String(BigInt(value)) : String(value);
}
