/**
 * YAML text as a plain tree in which a broken part does not spoil its neighbours.
 * The only module that knows the `yaml` package, which is loaded when the first file needs it.
 */
import type * as Yaml from "yaml";
import { isKey } from "../../validate-state.js";

export type YamlTree = YamlBranch | YamlLeaf | YamlBreak;

export interface YamlBranch {
  readonly kind: "map";
  readonly offset: number;
  readonly entries: ReadonlyMap<string, YamlTree>;
  /** What is in the map and could not be an entry of it. */
  readonly faults: readonly YamlBreak[];
}

/** Anything but a map: text, a number, a list. */
export interface YamlLeaf {
  readonly kind: "value";
  readonly offset: number;
  readonly value: unknown;
}

export interface YamlBreak {
  readonly kind: "broken";
  /** How many characters of the text come before it. */
  readonly offset: number;
  readonly problem: string;
  /** What a key says the second time. */
  readonly double?: { readonly key: string; readonly tree: YamlTree };
}

/** The parser needs about a second, and 100 MB, for as many marks. Other characters cost it little. */
const MOST_MARKS = 50_000;
const LONGEST_TEXT = 2_000_000;
const MARK = /[\n,[\]{}?&!]|[:-] /g;
/** Also what stands for bytes that are not text, and a lone CR, which the parser takes for a part of the next key. */
// eslint-disable-next-line no-control-regex
const NOT_YAML = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|\r(?!\n)/;
const DEEPEST = 100;
const LONGEST_PROBLEM = 120;

/** Whether the parser would need too long for a text. */
export function isTooMuch(text: string, marks: number = MOST_MARKS): boolean {
  if (text.length > LONGEST_TEXT) return true;
  let count = text.length > marks ? 0 : -Infinity;
  MARK.lastIndex = 0;
  while (count <= marks && MARK.test(text)) count++;
  return count > marks;
}

/** The tree of a text that begins `start` characters into the file; broken as a whole when it is not YAML. */
export async function readYaml(text: string, start = 0): Promise<YamlTree> {
  const wrong = NOT_YAML.exec(text);
  if (wrong !== null) return broken(start + wrong.index, "a byte or a character that no YAML text has");
  if (isTooMuch(text)) return broken(start, "more than can be read of what Rota did not write");
  const yaml = await import("yaml");
  const document = yaml.parseDocument(text, {
    // The package compares every key with every other; the tree finds doubles in passing.
    uniqueKeys: false,
    intAsBigInt: true,
    // Times, sets and bytes could not be written back.
    resolveKnownTags: false,
    // Silent, it would not mention a second document.
    logLevel: "error",
    // Each would carry a part of the text.
    prettyErrors: false,
  });
  const fault = document.errors[0] ?? document.warnings[0];
  if (fault !== undefined) return broken(start + fault.pos[0], shortened(fault.message));
  if (document.directives?.yaml.version === "1.1") return broken(start, "YAML 1.1, where yes is not a text");
  return new TreeMaker(yaml, start).tree(document.contents);
}

class TreeMaker {
  readonly #yaml: typeof Yaml;
  readonly #start: number;

  constructor(yaml: typeof Yaml, start: number) {
    this.#yaml = yaml;
    this.#start = start;
  }

  tree(node: unknown, depth = 0): YamlTree {
    const yaml = this.#yaml;
    const offset = this.#offset(node);
    if (node === null) return { kind: "value", offset, value: null };
    if (depth > DEEPEST) return broken(offset, `more than ${DEEPEST} levels of nesting`);
    if (yaml.isMap(node)) return this.#branch(node, offset, depth);
    if (yaml.isSeq(node)) return this.#list(node.items, offset, depth);
    if (yaml.isScalar(node)) return { kind: "value", offset, value: plainNumber(node.value) };
    return broken(offset, "an alias (*), which state cannot have");
  }

  #branch(map: Yaml.YAMLMap, offset: number, depth: number): YamlBranch {
    const entries = new Map<string, YamlTree>();
    const faults: YamlBreak[] = [];
    for (const { key, value } of map.items) {
      const name = this.#name(key);
      const tree = this.tree(value, depth + 1);
      if (name === undefined) faults.push(broken(this.#offset(key), "a key that is not text, or too long"));
      else if (entries.has(name)) faults.push(doubleKey(name, tree, this.#offset(key)));
      else entries.set(name, tree);
    }
    return { kind: "map", offset, entries, faults };
  }

  /** Names such as 007 and true are text here, as they are written. */
  #name(key: unknown): string | undefined {
    if (!this.#yaml.isScalar(key)) return undefined;
    const name = typeof key.value === "string" ? key.value : key.source;
    const isName = name !== undefined && isKey(name) && (name !== "" || key.value === "");
    return isName ? name : undefined;
  }

  #list(items: readonly unknown[], offset: number, depth: number): YamlTree {
    const trees = items.map((item) => this.tree(item, depth + 1));
    const fault = trees.map(faultIn).find((found) => found !== undefined);
    return fault ?? { kind: "value", offset, value: trees.map(valueOf) };
  }

  #offset(node: unknown): number {
    return this.#start + (this.#yaml.isNode(node) ? (node.range?.[0] ?? 0) : 0);
  }
}

/** The first break at or below a tree. */
export function faultIn(tree: YamlTree): YamlBreak | undefined {
  if (tree.kind === "broken") return tree;
  if (tree.kind === "value") return undefined;
  if (tree.faults.length > 0) return tree.faults[0];
  for (const entry of tree.entries.values()) {
    const fault = faultIn(entry);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/** What a tree without breaks says. */
export function valueOf(tree: YamlTree): unknown {
  if (tree.kind === "broken") return undefined;
  return tree.kind === "value" ? tree.value : fieldsOf(tree);
}

export function fieldsOf({ entries }: YamlBranch): Record<string, unknown> {
  // Unlike an assignment, this gives `__proto__` no meaning.
  return Object.fromEntries(Array.from(entries, ([key, entry]) => [key, valueOf(entry)]));
}

export function broken(offset: number, problem: string): YamlBreak {
  return { kind: "broken", offset, problem };
}

export function doubleKey(key: string, tree: YamlTree, offset: number): YamlBreak {
  return {
    ...broken(offset, `${shortened(JSON.stringify(key))} twice; the first one counts`),
    double: { key, tree },
  };
}

/** Whole numbers are read without loss: a number that JavaScript cannot hold stays a bigint. */
function plainNumber(value: unknown): unknown {
  return typeof value === "bigint" && BigInt(Number(value)) === value ? Number(value) : value;
}

function shortened(message: string): string {
  return message.length > LONGEST_PROBLEM ? `${message.slice(0, LONGEST_PROBLEM)}…` : message;
}
