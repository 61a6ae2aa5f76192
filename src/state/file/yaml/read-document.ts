/**
 * What the bytes of a state file say. They are cut into one chunk per agent; only chunks that changed are read again,
 * by the strict reader if it can, else as YAML.
 */
import type { Fields } from "../../../fields.js";
import { isAscii, isUtf8 } from "node:buffer";
import { isScheduleFields, type ScheduleFields } from "../../validate-state.js";
import { LineCount, sentences } from "../damage-report.js";
import { type Chunk, type FileLayout, findLayout } from "../file-layout.js";
import {
  type AgentEntry,
  agentEntry,
  ANNOUNCEMENT,
  emptyDocument,
  END_MARK,
  INTRODUCTION,
  type StateDocument,
} from "./state-document.js";
import type { AgentFields } from "./state-document.js";
import { readAgentStrictly, readFieldsStrictly, readNameStrictly } from "./strict-reader.js";
import { type Damage, type ReadText, readYamlAgent, readYamlFile } from "./yaml-reader.js";
import { isTooMuch } from "./yaml-tree.js";

export interface ReadDocument {
  readonly document: StateDocument;
  /** One sentence for each entry that could not be used. */
  readonly damages: readonly string[];
}

/** What the bytes of a file say, and whether its end is missing. */
export interface ReadFile extends ReadDocument {
  readonly isCut: boolean;
}

const BYTE_ORDER_MARK = Buffer.from("\ufeff");
const FIRST_WORDS = "# The state of Rota's schedules.";
/** What people write is not longer, and the parser needs two seconds for it. */
const MOST_FOREIGN_BYTES = 2_000_000;
const MOST_FOREIGN_MARKS = 100_000;

/** What the bytes say. Agents whose text is the same as in `known` are taken from there. */
export async function readDocument(bytes: Buffer, known: StateDocument): Promise<ReadFile> {
  const hasMark = bytes.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK);
  const { own, isCut } = withoutEnd(hasMark ? bytes.subarray(BYTE_ORDER_MARK.length) : bytes);
  const { document, damages } = await readOwn(own, known);
  // An empty file has been reported as such.
  if (!isCut || own.length === 0) return { document, damages, isCut };
  const lastLine = new LineCount(own).at(own.length);
  return { document, damages: [...damages, `line ${lastLine}: ${CUT}`], isCut };
}

const CUT = `the last line, "${END_MARK.trimEnd()}", is missing, so the file was cut short here and later entries are lost: check which schedules were disabled or paused`;

const END_START = `\n${END_MARK.trimEnd()}`;
/** An editor may have removed the newline after the mark, or written two characters for it. */
const END_LINE = new RegExp(`${END_START}[ \\t]*\\r?(?=\\n|$)`, "g");

/** The bytes without their end mark. A text that announces none has none; an empty file was cut all the same. */
function withoutEnd(bytes: Buffer): { readonly own: Buffer; readonly isCut: boolean } {
  const start = bytes.toString("latin1", 0, INTRODUCTION.length);
  const newline = start.indexOf("\n");
  const isAnnounced = start.slice(0, newline < 0 ? undefined : newline).includes(ANNOUNCEMENT);
  const at = bytes.lastIndexOf(END_START);
  if (at < 0) return { own: bytes, isCut: isAnnounced || (newline < 0 && INTRODUCTION.startsWith(start)) };
  const isLast = bytes.toString("latin1", at).trim() === END_START.trim();
  if (isLast && bytes.indexOf(END_START) === at) return { own: bytes.subarray(0, at + 1), isCut: false };
  // An editor has added text after the mark. Blanks in its place keep every line where it is.
  let isMarked = false;
  const text = bytes.toString("latin1").replaceAll(END_LINE, (line) => {
    isMarked = true;
    return `\n${" ".repeat(line.length - 1)}`;
  });
  return { own: Buffer.from(text, "latin1"), isCut: isAnnounced && !isMarked };
}

async function readOwn(own: Buffer, known: StateDocument): Promise<ReadDocument> {
  const layout = findLayout(own);
  if (layout?.isPlain === true) return readChunks(own, layout, known);
  const text = own.length > MOST_FOREIGN_BYTES ? undefined : textOf(own);
  if (text !== undefined && !isTooMuch(text, MOST_FOREIGN_MARKS)) return readForeign(text);
  const problem = `its ${own.length} bytes are more than can be read of what Rota did not write`;
  if (layout === undefined) return unreadable(problem);
  const { document, damages } = await readChunks(own, layout, known);
  // What the cuts have made of it cannot be told without reading it.
  return { document, damages: [...damages, problem] };
}

async function readForeign(text: string): Promise<ReadDocument> {
  const file = await readYamlFile(text);
  if ("agents" in file) return { document: documentOf(file), damages: sentences(file.damages, text) };
  return unreadable(sentences([file], text).join());
}

function unreadable(problem: string): ReadDocument {
  return { document: emptyDocument(), damages: [problem] };
}

async function readChunks(bytes: Buffer, layout: FileLayout, known: StateDocument): Promise<ReadDocument> {
  const { head, damages } = await readHead(bytes, layout);
  const agents = new Map<string, AgentEntry>();
  const all = [...damages];
  const lines = new LineCount(bytes);
  const reader = new ChunkReader(bytes, layout, known);
  for (const chunk of layout.chunks) {
    const entry = reader.read(chunk);
    if (entry !== undefined && !agents.has(entry.name)) {
      agents.set(entry.name, entry);
      continue;
    }
    const text = textOf(chunk.bytes);
    const read = await readYamlAgent(text);
    const doubles = read.agents.filter(({ name }) => agents.has(name)).map(({ name }) => doubleAgent(name));
    const found = [...read.damages, ...doubles];
    for (const [name, agent] of documentOf(read).agents) {
      // What is whole keeps its own words, comments and all, until it changes.
      const isKept = found.length === 0 && layout.isPlain;
      if (!agents.has(name)) agents.set(name, isKept ? reader.entry(agent, chunk) : agent);
    }
    if (found.length === 0) continue;
    const firstLine = lines.at(chunk.offset);
    for (const damage of sentences(found, text, (line) => line - 1 + firstLine)) all.push(damage);
  }
  return { document: { head, agents }, damages: all };
}

/** Reads chunks that are known, or just as we write them. */
class ChunkReader {
  readonly #known: StateDocument;
  /** A part of the file keeps all of it in memory: once that is no loss, but not for every version of the file. */
  readonly #isFirst: boolean;
  /** The file's text if a byte of it is a character, so that nothing has to be decoded. */
  readonly #ascii: string | undefined;

  constructor(bytes: Buffer, layout: FileLayout, known: StateDocument) {
    this.#known = known;
    this.#isFirst = known.agents.size === 0;
    this.#ascii = this.#isFirst && isAscii(bytes) ? layout.text : undefined;
  }

  read(chunk: Chunk): AgentEntry | undefined {
    const known = this.#isFirst ? undefined : knownChunk(chunk, this.#known);
    if (known !== undefined) return known;
    const agent = this.#readStrictly(chunk);
    return agent && this.entry(agent, chunk);
  }

  /** The agent with the chunk's own text. */
  entry(agent: AgentFields<ScheduleFields>, { bytes }: Chunk): AgentEntry {
    const text = wholeLines(bytes);
    return agentEntry(agent, this.#isFirst ? text : Buffer.from(text));
  }

  #readStrictly({ bytes, offset }: Chunk): AgentFields<ScheduleFields> | undefined {
    if (this.#ascii !== undefined) {
      const agent = readAgentStrictly(this.#ascii, offset, offset + bytes.length);
      // A second try reads the same text, unless the lines end differently.
      if (agent !== undefined || !bytes.includes("\r\n")) return agent;
    }
    return isUtf8(bytes) ? readAgentStrictly(bytes.toString("utf8").replaceAll("\r\n", "\n")) : undefined;
  }
}

function doubleAgent(name: string): Damage {
  return { where: ["agents", name], offset: 0, problem: "the same key twice; the first one counts" };
}

async function readHead(
  bytes: Buffer,
  layout: FileLayout,
): Promise<{ head: Fields; damages: readonly string[] }> {
  const [head, tail] = [textOf(layout.head), textOf(layout.tail)];
  // Without our first line, in this version's words or in earlier ones.
  const own = head.startsWith(FIRST_WORDS) ? head.slice(head.indexOf("\n") + 1) : head;
  const fields = tail === "" ? readFieldsStrictly(own) : undefined;
  if (fields !== undefined && !Object.hasOwn(fields, "agents")) return { head: fields, damages: [] };
  const before = `${head}agents: {}\n`;
  const file = await readYamlFile(before + tail);
  const tailLine = new LineCount(before).at(before.length);
  const agentLines = new LineCount(bytes).at(layout.tailOffset) - tailLine;
  const fileLine = (line: number): number => (line < tailLine ? line : line + agentLines);
  const isMap = "agents" in file;
  return {
    head: isMap ? file.head : {},
    damages: sentences(isMap ? file.damages : [file], before + tail, fileLine),
  };
}

/** The text of the bytes; what is not UTF-8 becomes a character that no YAML text has. */
function textOf(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString("utf8");
  const lines: string[] = [];
  for (let from = 0; from < bytes.length;) {
    const newline = bytes.indexOf(NEWLINE, from);
    const end = newline < 0 ? bytes.length : newline + 1;
    const line = bytes.subarray(from, end);
    lines.push(isUtf8(line) ? line.toString("utf8") : line.toString("utf8").replaceAll("\ufffd", "\uffff"));
    from = end;
  }
  return lines.join("");
}

/** In bytes: six for each of 128 characters. */
const LONGEST_NAME = 800;
const NEWLINE = 10;

/** The agent of this name, if its text is still the same. */
function knownChunk({ bytes }: Chunk, known: StateDocument): AgentEntry | undefined {
  const name = readNameStrictly(bytes.toString("utf8", 0, LONGEST_NAME));
  const entry = name === undefined ? undefined : known.agents.get(name);
  return entry?.text.equals(bytes) === true ? entry : undefined;
}

/** The last line of a file that was cut short or edited may lack its newline. */
function wholeLines(text: Buffer): Buffer {
  return text.at(-1) === NEWLINE ? text : Buffer.concat([text, Buffer.from("\n")]);
}

function areSchedules(
  schedules: ReadonlyMap<string, Fields>,
): schedules is ReadonlyMap<string, ScheduleFields> {
  for (const fields of schedules.values()) if (!isScheduleFields(fields)) return false;
  return true;
}

/** What the YAML reader found, rendered in our own way. */
function documentOf({ head, agents }: ReadText): StateDocument {
  const entries = new Map<string, AgentEntry>();
  for (const { name, other, schedules } of agents) {
    if (areSchedules(schedules)) entries.set(name, agentEntry({ name, other, schedules }));
  }
  return { head, agents: entries };
}
