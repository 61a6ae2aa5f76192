/**
 * YAML text in, located values out, with everything that is wrong with it as YAML: syntax, keys that come twice,
 * aliases that refer to themselves or stand for too much, variables that are unset. What keys mean is not known here.
 */
import {
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
import { type Environment, interpolate } from "./interpolate.js";
import type { Located, LocatedEntry, Path } from "./located-value.js";
import type { Fault } from "../problem-list.js";
import type { Place, SourceText } from "./source-text.js";
import { tooDeepAt } from "./yaml-depth.js";

export interface ConfigDocument {
  readonly source: SourceText;
  /** `undefined` when the text cannot be used. */
  readonly root: Located | undefined;
  /** With paths that start at the root of the document. */
  readonly faults: readonly Fault[];
}

/** The parser needs a few seconds for a text with as many marks; quotes that do not match cost it the square of them. */
export const LONGEST_TEXT = 2_000_000;
const MOST_MARKS = 200_000;
const MARK = /[\n,[\]{}?&!*"']|[:-] /g;
/** What no YAML text has, and a lone CR, which the parser takes for a part of the next key. */
// eslint-disable-next-line no-control-regex
const NOT_YAML = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|\r(?!\n)/;
const DEEPEST = 50;
/** How many values all aliases together may stand for. */
const MOST_ALIASED = 100_000;

const MOST_SYNTAX_FAULTS = 10;

export function readYaml(source: SourceText, env: Environment): ConfigDocument {
  const { text } = source;
  const refuse = (code: Fault["code"], message: string, start = 0): ConfigDocument => {
    const place = { source, start, end: start + 1 };
    return { source, root: undefined, faults: [{ code, message, path: [], place }] };
  };
  if (text.length > LONGEST_TEXT)
    return refuse("TOO_LARGE", `The text has ${text.length} characters, expected at most ${LONGEST_TEXT}`);
  if (text.length > MOST_MARKS && (text.match(MARK)?.length ?? 0) > MOST_MARKS)
    return refuse("TOO_LARGE", `The text has too many values to be a configuration: split it into files`);
  const wrong = NOT_YAML.exec(text);
  if (wrong !== null) return refuse("SYNTAX", "There is a character here that no YAML text has", wrong.index);
  const tooDeep = tooDeepAt(text);
  if (tooDeep !== undefined) return refuse("TOO_LARGE", "The text is nested too deeply here", tooDeep);
  return new YamlReader(source, env).read();
}

class YamlReader {
  readonly #source: SourceText;
  readonly #env: Environment;
  readonly #faults: Fault[] = [];
  readonly #anchors = new Map<string, { node: Located; size: number } | "open">();
  #values = 0;
  #aliased = 0;

  constructor(source: SourceText, env: Environment) {
    this.#source = source;
    this.#env = env;
  }

  read(): ConfigDocument {
    const document = parseDocument(this.#source.text, {
      // The package compares every key with every other; the map finds doubles in passing.
      uniqueKeys: false,
      resolveKnownTags: false,
      // Silent, it would not mention a second document.
      logLevel: "error",
      // Frames are made here.
      prettyErrors: false,
    });
    const notes = [...document.errors, ...document.warnings];
    if (document.directives?.yaml.version === "1.1")
      this.#fault(
        "SYNTAX",
        "This is YAML 1.1, where yes is no text: remove the directive",
        [],
        this.#place([0, 5]),
      );
    this.#faults.push(...this.#syntaxFaults(notes));
    if (this.#faults.length > 0) return { source: this.#source, root: undefined, faults: this.#faults };
    const root = this.#value(document.contents, []);
    return { source: this.#source, root, faults: this.#faults };
  }

  /** One of each line, and not many: most of what follows a mistake is no mistake of its own. */
  #syntaxFaults(notes: readonly YAMLError[]): readonly Fault[] {
    const byLine = new Map<number, Fault>();
    for (const { message, pos } of notes) {
      const place = this.#place([pos[0], pos[1]]);
      const { line } = this.#source.positionAt(place.start);
      const fault = {
        code: "SYNTAX" as const,
        message: `This is no YAML: ${firstLine(message)}`,
        path: [],
        place,
      };
      if (!byLine.has(line) && byLine.size < MOST_SYNTAX_FAULTS) byLine.set(line, fault);
    }
    return [...byLine.values()];
  }

  #value(node: unknown, path: Path): Located {
    const place = this.#placeOf(node);
    this.#values++;
    if (path.length > DEEPEST) {
      this.#fault("TOO_LARGE", `There are more than ${DEEPEST} levels here`, path, place);
      return broken(place);
    }
    if (isAlias(node)) return this.#alias(node.source, path, place);
    const anchor = isMap(node) || isSeq(node) || isScalar(node) ? node.anchor : undefined;
    if (anchor === undefined) return this.#own(node, path, place);
    this.#anchors.set(anchor, "open");
    const before = this.#values + this.#aliased;
    const value = this.#own(node, path, place);
    this.#anchors.set(anchor, { node: value, size: this.#values + this.#aliased - before + 1 });
    return value;
  }

  #own(node: unknown, path: Path, place: Place): Located {
    if (isMap(node)) return { kind: "map", place, entries: this.#entries(node, path) };
    if (isSeq(node))
      return { kind: "list", place, items: node.items.map((item, at) => this.#value(item, [...path, at])) };
    if (isScalar(node)) return this.#scalar(node, path, place);
    return { kind: "scalar", place, value: null };
  }

  #entries(map: YAMLMap, path: Path): Map<string, LocatedEntry> {
    const entries = new Map<string, LocatedEntry>();
    for (const { key, value } of map.items as Iterable<Pair>) {
      const place = this.#placeOf(key);
      const name = isScalar(key) ? nameOf(key) : undefined;
      if (name === undefined) {
        this.#fault("SYNTAX", "A key is missing or is no text here", path, place);
        continue;
      }
      const before = entries.get(name);
      const entry = { key: place, value: this.#value(value, [...path, name]) };
      if (before === undefined) entries.set(name, entry);
      else this.#doubleKey(name, before.key, path, place);
    }
    return withMerged(entries);
  }

  #doubleKey(name: string, first: Place, path: Path, place: Place): void {
    const { line } = this.#source.positionAt(first.start);
    const message = `The key ${quote(name)} comes twice, first in line ${line}: remove one`;
    this.#fault("DUPLICATE_KEY", message, [...path, name], place);
  }

  #alias(name: string, path: Path, place: Place): Located {
    const anchor = this.#anchors.get(name);
    if (anchor === undefined || anchor === "open") {
      const why = anchor === "open" ? "refers to itself" : "refers to nothing that comes before it";
      this.#fault("SYNTAX", `The alias ${quote(`*${name}`)} ${why}`, path, place);
      return broken(place);
    }
    this.#aliased += anchor.size;
    if (this.#aliased <= MOST_ALIASED) return anchor.node;
    const message = `The aliases up to here stand for more than ${MOST_ALIASED} values`;
    if (this.#aliased - anchor.size <= MOST_ALIASED) this.#fault("TOO_LARGE", message, path, place);
    return broken(place);
  }

  #scalar({ value, source }: Scalar, path: Path, place: Place): Located {
    if (typeof value !== "string") return { kind: "scalar", place, value: scalarValue(value, source) };
    const filled = interpolate(value, this.#env);
    if (filled === undefined) return { kind: "scalar", place, value };
    let from = place.start;
    for (const { written, name } of filled.faults) {
      const at = this.#source.text.indexOf(written, from);
      const isHere = at >= from && at < place.end;
      const part = isHere ? { ...place, start: at, end: at + written.length } : place;
      if (isHere) from = at + 1;
      this.#variableFault(written, name, path, part);
    }
    return { kind: "scalar", place, value: filled.text, written: value, isBroken: filled.faults.length > 0 };
  }

  #variableFault(written: string, name: string | undefined, path: Path, place: Place): void {
    const message =
      name === undefined
        ? `${quote(written)} is no variable, expected one such as "\${NAME}" or "\${NAME:-default}"; "$\${" stands for "\${" itself`
        : `The environment variable ${name} is not set: set it, or write "\${${name}:-default}"`;
    const code = name === undefined ? "SYNTAX" : "UNSET_VARIABLE";
    this.#faults.push({ code, message, path, place, given: quote(written) });
  }

  #fault(code: Fault["code"], message: string, path: Path, place: Place): void {
    this.#faults.push({ code, message, path, place });
  }

  #placeOf(node: unknown): Place {
    const range = isAlias(node) || isMap(node) || isSeq(node) || isScalar(node) ? node.range : undefined;
    return this.#place([range?.[0] ?? 0, range?.[1] ?? 1]);
  }

  #place([start, end]: readonly [number, number]): Place {
    return { source: this.#source, start, end };
  }
}

/** What `<<: *anchor` brings in counts less than the map's own keys, and the first of several most. */
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

/** Names such as 007 and true are text here, as they are written. */
function nameOf({ value, source }: Scalar): string | undefined {
  const name = typeof value === "string" ? value : (source ?? "");
  // An object cannot have it as one key among others.
  return name === "__proto__" || (name === "" && value !== "") ? undefined : name;
}

function scalarValue(value: unknown, source: string | undefined): string | number | boolean | null {
  if (typeof value === "number" || typeof value === "boolean" || value === null) return value;
  return source ?? "";
}

function broken(place: Place): Located {
  return { kind: "scalar", place, value: null, isBroken: true };
}

function firstLine(message: string): string {
  const [line = ""] = message.split("\n");
  return line.replace(/[.:]$/, "");
}
