/**
 * Where in the state file which agent stands, found without understanding the text: a line indented by two spaces
 * begins an agent. Whether cutting there may be trusted is part of the answer.
 */

export interface FileLayout {
  /** The bytes as text, a character each. */
  readonly text: string;
  /** What comes before the line that says `agents:`. */
  readonly head: Buffer;
  readonly chunks: readonly Chunk[];
  /** What comes after the agents. */
  readonly tail: Buffer;
  /** How many bytes of the file come before the tail. */
  readonly tailOffset: number;
  /** Whether each chunk starts with nothing but a name, so that cutting there cannot change what the text means. */
  readonly isPlain: boolean;
}

/** The bytes that describe one agent. */
export interface Chunk {
  readonly bytes: Buffer;
  /** How many bytes of the file come before it. */
  readonly offset: number;
}

const AGENTS_LINE = /(?:^|\n)agents:[ \t]*(?:[ \t]#[^\n]*)?\r?\n/;
const AGENT_LINE = /^ {2}(?:[\w./-]+|"(?:[^"\\]|\\.)*"|'[^']*'):[ \t]*(?:\{\})?[ \t]*(?:[ \t]#.*)?\r?$/;
/** Six bytes for each of 128 characters, and a comment. */
const LONGEST_AGENT_LINE = 2_000;
/** A larger file has fewer bytes for each than an agent needs. */
const MOST_AGENTS = 250_000;
const KEY = /[^\n]*:(?:[ \t\r\n]|$)/y;
const CONTENT = /(?:^|\n)[ \t]*(?:[^ \t\r\n#]|\r(?!\n))/;
/** At the left margin: neither a name nor a comment, but something that may change the meaning of all that follows. */
const MARGIN_MARK = /(?:^|\n)(?![A-Za-z_"'# \n]|\r\n|$)/;

/** `undefined` unless exactly one line says `agents:` and nothing else. */
export function findLayout(bytes: Buffer): FileLayout | undefined {
  // One byte is one character, so that offsets are the same in both.
  const text = bytes.toString("latin1");
  const opening = AGENTS_LINE.exec(text);
  if (opening === null) return undefined;
  const headEnd = opening.index + (opening[0].startsWith("\n") ? 1 : 0);
  const from = opening.index + opening[0].length;
  const boundaries = findBoundaries(text, from);
  if (boundaries === undefined) return undefined;
  const { starts, end, hasStray } = boundaries;
  const hasPrelude = CONTENT.test(text.slice(from, starts[0] ?? end));
  const isPlain =
    !hasStray &&
    !hasPrelude &&
    starts.every((at) => isAgentLine(text, at)) &&
    [text.slice(0, headEnd), text.slice(end)].every((part) => !MARGIN_MARK.test(part));
  // The text before the first agent may hold agents in a different layout.
  if (hasPrelude) starts.unshift(from);
  return {
    text,
    head: bytes.subarray(0, headEnd),
    chunks: starts.map((start, index) => ({
      bytes: bytes.subarray(start, starts[index + 1] ?? end),
      offset: start,
    })),
    tail: bytes.subarray(end),
    tailOffset: end,
    isPlain,
  };
}

interface Boundaries {
  readonly starts: number[];
  readonly end: number;
  /** Whether there is a line at the left margin that has no key: agents may follow it. */
  readonly hasStray: boolean;
}

const SPACE = " ".charCodeAt(0);
/** What begins a comment, or ends a line that says nothing. */
const SILENT = new Set(["#", "\r", "\n"].map((character) => character.charCodeAt(0)));

/** Lines indented by two spaces begin an agent, and a key at the left margin ends them all. Too many: `undefined`. */
function findBoundaries(text: string, from: number): Boundaries | undefined {
  const starts: number[] = [];
  let hasStray = false;
  for (let at = from; at > 0 && at < text.length; at = text.indexOf("\n", at) + 1) {
    // Most lines are further in: three looks tell.
    const indent = text.charCodeAt(at) !== SPACE ? 0 : text.charCodeAt(at + 1) !== SPACE ? 1 : 2;
    const first = text.charCodeAt(at + indent);
    if (indent === 1 || first === SPACE || SILENT.has(first)) continue;
    if (indent === 2) {
      if (starts.push(at) > MOST_AGENTS) return undefined;
    } else if (hasKey(text, at)) return { starts, end: at, hasStray };
    else hasStray = true;
  }
  return { starts, end: text.length, hasStray };
}

function hasKey(text: string, at: number): boolean {
  KEY.lastIndex = at;
  return KEY.test(text);
}

function isAgentLine(text: string, start: number): boolean {
  const newline = text.indexOf("\n", start);
  const end = newline < 0 ? text.length : newline;
  return end - start <= LONGEST_AGENT_LINE && AGENT_LINE.test(text.slice(start, end));
}
