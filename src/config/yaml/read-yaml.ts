/**
 * Reads YAML text into located values, and finds everything that is wrong with it as YAML: syntax, duplicate keys,
 * aliases that refer to themselves or expand to too much, unset variables. What the keys mean is checked elsewhere.
 */
import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  type Pair,
  parseDocument,
  type Scalar,
  type YAMLError,
  type YAMLMap,
} from "yaml";
import { quote } from "../../errors.js";
import type { Path } from "../../scheduler/definition/fault.js";
import { type Environment, interpolate } from "./interpolate.js";
import type { LocatedEntry, LocatedFault, LocatedValue } from "./located-value.js";
import type { SourceRange, SourceText } from "./source-text.js";
import { tooDeepAt } from "./yaml-depth.js";

export interface ConfigDocument {
  readonly source: SourceText;
  /** `undefined` for a text with syntax errors. */
  readonly root: LocatedValue | undefined;
  /** Their paths start at the root of the document. */
  readonly faults: readonly LocatedFault[];
}

/** The parser needs seconds for a text with this many marks, and quadratic time for unmatched quotes. */
export const LONGEST_TEXT = 2_000_000;
const MOST_MARKS = 200_000;
const MARK = /[\n,[\]{}?&!*"']|[:-] /g;
/** Characters that YAML forbids, and a lone CR, which the parser reads as a part of the next key. */
// eslint-disable-next-line no-control-regex
const NOT_YAML = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|\r(?!\n)/;
const DEEPEST = 50;
/** How many values all aliases together may expand to. */
const MOST_ALIASED = 100_000;

const MOST_SYNTAX_FAULTS = 10;
// `expression: */5 * * * *`, which YAML reads as an alias, and `cron: @daily`. No alias has such characters.
const UNQUOTED_CRON =
  /(?<=^|\n)([ \t]*(?:-[ \t]+)?(?:expression|cron):[ \t]+)(?:\*(?:[/,]\S*)?(?:[ \t]+[^\s#{}]+){4,5}(?<!,)|@[a-z]+)(?=[ \t]*(?:#|\r?\n|$))/g;
/** The same between braces, where a comma ends it unless a field goes on. */
const UNQUOTED_IN_BRACES =
  /\b((?:expression|cron):[ \t]+)(?:\*(?:\/\d+)?(?:,[^\s,#{}[\]]+)*(?:[ \t]+[^\s,#{}[\]]+(?:,[^\s,#{}[\]]+)*){4,5}|@[a-z]+)(?=\s*[,}])/g;
/** How much space there may be between a brace or comma and a key. */
const MOST_SPACE = 200;

export function readYaml(source: SourceText, env: Environment): ConfigDocument {
  const { text } = source;
  const refuse = (code: LocatedFault["code"], message: string, start = 0): ConfigDocument => {
    const range = { source, start, end: start + 1 };
    return { source, root: undefined, faults: [{ code, message, path: [], range }] };
  };
  if (text.length > LONGEST_TEXT)
    return refuse("TOO_LARGE", `The text has ${text.length} characters, expected at most ${LONGEST_TEXT}`);
  if (text.length > MOST_MARKS && (text.match(MARK)?.length ?? 0) > MOST_MARKS)
    return refuse("TOO_LARGE", `The text has too many values to be a configuration: split it into files`);
  const wrong = NOT_YAML.exec(text);
  if (wrong !== null) return refuse("SYNTAX", "YAML does not allow this character", wrong.index);
  const tooDeep = tooDeepAt(text);
  if (tooDeep !== undefined) return refuse("TOO_LARGE", "The text is nested too deeply here", tooDeep);
  return new YamlReader(source, env).read();
}

function parse(text: string): Document.Parsed {
  return parseDocument(text, {
    // The package compares all pairs of keys; #entries finds duplicates in linear time.
    uniqueKeys: false,
    resolveKnownTags: false,
    // "silent" would hide a second document.
    logLevel: "error",
    // SourceText makes the frames.
    prettyErrors: false,
  });
}

class YamlReader {
  readonly #source: SourceText;
  readonly #env: Environment;
  readonly #faults: LocatedFault[] = [];
  readonly #anchors = new Map<string, { node: LocatedValue; size: number } | "open">();
  /** Cron expressions without quotes, by their offset. */
  readonly #unquoted = new Map<number, string>();
  #values = 0;
  #aliased = 0;

  constructor(source: SourceText, env: Environment) {
    this.#source = source;
    this.#env = env;
  }

  read(): ConfigDocument {
    const whole = parse(this.#source.text);
    const document = whole.errors.length === 0 ? whole : parse(this.#withoutUnquotedCron());
    const notes = [...document.errors, ...document.warnings];
    if (document.directives?.yaml.version === "1.1")
      this.#fault(
        "SYNTAX",
        "YAML 1.1 is not supported, because it reads yes as true: remove the directive",
        [],
        this.#range([0, 5]),
      );
    this.#faults.push(...this.#syntaxFaults(notes));
    if (this.#faults.length > 0) return { source: this.#source, root: undefined, faults: this.#faults };
    const root = this.#value(document.contents, []);
    return { source: this.#source, root, faults: this.#faults };
  }

  /** The text with letters in place of each unquoted cron expression, so that the rest can be read. */
  #withoutUnquotedCron(): string {
    const { text } = this.#source;
    const replace = (written: string, before: string, at: number): string => {
      const cron = written.slice(before.length);
      this.#unquoted.set(at + before.length, cron);
      return `${before}${"x".repeat(cron.length)}`;
    };
    const isInBraces = (at: number): boolean =>
      /[{,]$/.test(text.slice(Math.max(0, at - MOST_SPACE), at).trimEnd());
    return text
      .replaceAll(UNQUOTED_CRON, replace)
      .replaceAll(UNQUOTED_IN_BRACES, (written: string, before: string, at: number) =>
        isInBraces(at) ? replace(written, before, at) : written,
      );
  }

  /** One fault a line, and only the first few: most later errors follow from the first. */
  #syntaxFaults(notes: readonly YAMLError[]): readonly LocatedFault[] {
    const byLine = new Map<number, LocatedFault>();
    for (const { message, pos } of notes) {
      const range = this.#range([pos[0], pos[1]]);
      const { line } = this.#source.positionAt(range.start);
      const fault = {
        code: "SYNTAX" as const,
        message: `Not valid YAML: ${firstLine(message)}`,
        path: [],
        range,
      };
      if (!byLine.has(line) && byLine.size < MOST_SYNTAX_FAULTS) byLine.set(line, fault);
    }
    return [...byLine.values()];
  }

  #value(node: unknown, path: Path): LocatedValue {
    const range = this.#rangeOf(node);
    this.#values++;
    if (path.length > DEEPEST) {
      this.#fault("TOO_LARGE", `The text is nested more than ${DEEPEST} levels deep here`, path, range);
      return broken(range);
    }
    if (isAlias(node)) return this.#alias(node.source, path, range);
    const anchor = isMap(node) || isSeq(node) || isScalar(node) ? node.anchor : undefined;
    if (anchor === undefined) return this.#own(node, path, range);
    this.#anchors.set(anchor, "open");
    const before = this.#values + this.#aliased;
    const value = this.#own(node, path, range);
    this.#anchors.set(anchor, { node: value, size: this.#values + this.#aliased - before + 1 });
    return value;
  }

  #own(node: unknown, path: Path, range: SourceRange): LocatedValue {
    if (isMap(node)) return { kind: "map", range, entries: this.#entries(node, path) };
    if (isSeq(node))
      return { kind: "list", range, items: node.items.map((item, at) => this.#value(item, [...path, at])) };
    if (isScalar(node)) return this.#scalar(node, path, range);
    return { kind: "scalar", range, value: null };
  }

  #entries(map: YAMLMap, path: Path): Map<string, LocatedEntry> {
    const entries = new Map<string, LocatedEntry>();
    for (const { key, value } of map.items as Iterable<Pair>) {
      const range = this.#rangeOf(key);
      const name = isScalar(key) ? nameOf(key) : undefined;
      if (name === undefined) {
        this.#fault("SYNTAX", "A key is missing here, or is not text", path, range);
        continue;
      }
      const before = entries.get(name);
      const entry = { key: range, value: this.#value(value, [...path, name]) };
      if (before === undefined) entries.set(name, entry);
      else this.#duplicateKey(name, before.key, path, range);
    }
    return withMerged(entries);
  }

  #duplicateKey(name: string, first: SourceRange, path: Path, range: SourceRange): void {
    const { line } = this.#source.positionAt(first.start);
    const message = `Duplicate key ${quote(name)}, first in line ${line}: remove one`;
    this.#fault("DUPLICATE_KEY", message, [...path, name], range);
  }

  #alias(name: string, path: Path, range: SourceRange): LocatedValue {
    const anchor = this.#anchors.get(name);
    if (anchor === undefined || anchor === "open") {
      const why =
        anchor === "open" ? "refers to itself" : "refers to an anchor that does not exist before it";
      this.#fault("SYNTAX", `The alias ${quote(`*${name}`)} ${why}`, path, range);
      return broken(range);
    }
    this.#aliased += anchor.size;
    if (this.#aliased <= MOST_ALIASED) return anchor.node;
    const message = `The aliases up to here expand to more than ${MOST_ALIASED} values`;
    if (this.#aliased - anchor.size <= MOST_ALIASED) this.#fault("TOO_LARGE", message, path, range);
    return broken(range);
  }

  #scalar({ value, source }: Scalar, path: Path, range: SourceRange): LocatedValue {
    const unquoted = this.#unquoted.get(range.start);
    if (unquoted !== undefined) {
      const given = JSON.stringify(unquoted);
      this.#fault(
        "SYNTAX",
        `A cron expression that begins with ${given[1]} is not text in YAML: quote it: ${given}`,
        path,
        range,
      );
      return broken(range);
    }
    if (typeof value !== "string") return { kind: "scalar", range, value: scalarValue(value, source) };
    const filled = interpolate(value, this.#env);
    if (filled === undefined) return { kind: "scalar", range, value };
    let from = range.start;
    for (const { written, name } of filled.faults) {
      const at = this.#source.text.indexOf(written, from);
      const isHere = at >= from && at < range.end;
      const part = isHere ? { ...range, start: at, end: at + written.length } : range;
      if (isHere) from = at + 1;
      this.#variableFault(written, name, path, part);
    }
    return { kind: "scalar", range, value: filled.text, written: value, isBroken: filled.faults.length > 0 };
  }

  #variableFault(written: string, name: string | undefined, path: Path, range: SourceRange): void {
    const message =
      name === undefined
        ? `Invalid variable ${quote(written)}: expected one such as "\${NAME}" or "\${NAME:-default}"; write "$\${" for a literal "\${"`
        : `The environment variable ${name} is not set: set it, or write "\${${name}:-default}"`;
    const code = name === undefined ? "SYNTAX" : "UNSET_VARIABLE";
    this.#faults.push({ code, message, path, range, given: quote(written) });
  }

  #fault(code: LocatedFault["code"], message: string, path: Path, range: SourceRange): void {
    this.#faults.push({ code, message, path, range });
  }

  #rangeOf(node: unknown): SourceRange {
    const offsets = isAlias(node) || isMap(node) || isSeq(node) || isScalar(node) ? node.range : undefined;
    return this.#range([offsets?.[0] ?? 0, offsets?.[1] ?? 1]);
  }

  #range([start, end]: readonly [number, number]): SourceRange {
    return { source: this.#source, start, end };
  }
}

/** Expands `<<: *anchor`: the map's own keys win, then the keys of the first anchor in a list. */
function withMerged(entries: Map<string, LocatedEntry>): Map<string, LocatedEntry> {
  const merge = entries.get("<<")?.value;
  const sources = merge?.kind === "list" ? merge.items : merge === undefined ? [] : [merge];
  if (merge === undefined || sources.some(({ kind }) => kind !== "map")) return entries;
  entries.delete("<<");
  for (const source of sources)
    for (const [key, entry] of source.kind === "map" ? source.entries : [])
      if (!entries.has(key)) entries.set(key, entry);
  return entries;
}

/** Keys such as 007 and true become text, as written. */
function nameOf({ value, source }: Scalar): string | undefined {
  const name = typeof value === "string" ? value : (source ?? "");
  // "__proto__" would set the prototype of an object.
  return name === "__proto__" || (name === "" && value !== "") ? undefined : name;
}

function scalarValue(value: unknown, source: string | undefined): string | number | boolean | null {
  if (typeof value === "number" || typeof value === "boolean" || value === null) return value;
  return source ?? "";
}

function broken(range: SourceRange): LocatedValue {
  return { kind: "scalar", range, value: null, isBroken: true };
}

function firstLine(message: string): string {
  const [line = ""] = message.split("\n");
  return line.replace(/[.:]$/, "");
}
