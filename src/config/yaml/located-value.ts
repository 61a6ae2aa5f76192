/**
 * Values that know their position, so that a merged agent can still say which line of which file is wrong.
 * Pure: read-yaml.ts makes them, merge-layers.ts merges them.
 */
import type { ValueOrigin } from "../../scheduler/definition/fault.js";
import type { Fault, Path } from "../../scheduler/definition/fault.js";
import type { SourceRange } from "./source-text.js";

export type LocatedValue = LocatedMap | LocatedList | LocatedScalar;

interface LocatedBase {
  readonly range: SourceRange;
  /** Whether it comes from `defaults`, not from the agent itself. */
  readonly isDefault?: boolean | undefined;
}

export interface LocatedMap extends LocatedBase {
  readonly kind: "map";
  readonly entries: ReadonlyMap<string, LocatedEntry>;
}

export interface LocatedEntry {
  /** The position of the key. */
  readonly key: SourceRange;
  readonly value: LocatedValue;
}

export interface LocatedList extends LocatedBase {
  readonly kind: "list";
  readonly items: readonly LocatedValue[];
}

export interface LocatedScalar extends LocatedBase {
  readonly kind: "scalar";
  readonly value: string | number | boolean | null;
  /** The text before variables were put in; `undefined` for a text without variables. */
  readonly written?: string | undefined;
  /** Whether a problem with it was reported already. */
  readonly isBroken?: boolean | undefined;
}

export interface LocatedFault extends Fault {
  readonly range?: SourceRange | undefined;
}

/** The value without its positions. */
export function plainValue(node: LocatedValue): unknown {
  if (node.kind === "scalar") return node.value;
  if (node.kind === "list") return node.items.map(plainValue);
  return Object.fromEntries(Array.from(node.entries, ([key, { value }]) => [key, plainValue(value)]));
}

export function entryOf(node: LocatedValue | undefined, key: string): LocatedValue | undefined {
  return node?.kind === "map" ? node.entries.get(key)?.value : undefined;
}

export function scalarOf(node: LocatedValue | undefined, key: string): LocatedScalar["value"] | undefined {
  const value = entryOf(node, key);
  return value?.kind === "scalar" ? value.value : undefined;
}

/** The text of a key; `undefined` for a value that is not text. */
export function textOf(node: LocatedValue | undefined, key: string): string | undefined {
  const value = scalarOf(node, key);
  return typeof value === "string" ? value : undefined;
}

/** A copy of the map with other entries; `undefined` removes an entry. */
export function mapWith(
  map: LocatedMap,
  changes: Iterable<readonly [string, LocatedEntry | undefined]>,
): LocatedMap {
  const entries = new Map(map.entries);
  for (const [key, entry] of changes) {
    if (entry === undefined) entries.delete(key);
    else entries.set(key, entry);
  }
  return { ...map, entries };
}

export interface FoundValue {
  /** `undefined` for a path that leads to no value. */
  readonly node: LocatedValue | undefined;
  /** Of the value, or else of the key of the last map on the path. */
  readonly range: SourceRange;
}

export function find(root: LocatedValue, path: Path): FoundValue {
  let node = root;
  let { range } = root;
  for (const step of path) {
    const entry = node.kind === "map" ? node.entries.get(String(step)) : undefined;
    const next = node.kind === "list" ? node.items[Number(step)] : entry?.value;
    if (next === undefined) return { node: undefined, range };
    node = next;
    range = entry !== undefined && next.kind !== "scalar" ? entry.key : next.range;
  }
  return { node, range: node.range };
}

/** The position of a key in the map that a path leads to. */
export function rangeOfKey(root: LocatedValue, path: Path, key: string): SourceRange {
  const { node, range } = find(root, path);
  return (node?.kind === "map" ? node.entries.get(key)?.key : undefined) ?? range;
}

/** Adds positions to the faults of a value that `path` leads to. */
export function locateFaults(
  faults: readonly Fault[],
  tree: LocatedValue,
  path: Path,
): readonly LocatedFault[] {
  return faults.map((fault) => {
    const steps = fault.path.slice(path.length);
    const isKey = fault.code === "UNKNOWN_KEY";
    const range = isKey
      ? rangeOfKey(tree, steps.slice(0, -1), String(steps.at(-1)))
      : find(tree, steps).range;
    return { ...fault, range };
  });
}

/** What the checks of an agent need to know about its text. */
export function originOf(tree: LocatedValue): ValueOrigin {
  const holds = (path: Path, isMeant: (node: LocatedValue) => boolean): boolean => {
    const { node } = find(tree, path);
    return node !== undefined && isMeant(node);
  };
  return {
    writtenText: (path) => {
      const { node } = find(tree, path);
      return node?.kind === "scalar" ? node.written : undefined;
    },
    isInterpolated: (path) => holds(path, isInterpolated),
    hasProblem: (path) => holds(path, isBroken),
  };
}

/** Whether variables were put into the value or a part of it, so that it may be secret. */
export function isInterpolated(node: LocatedValue): boolean {
  return someScalar(node, ({ written }) => written !== undefined);
}

function isBroken(node: LocatedValue): boolean {
  return someScalar(node, (scalar) => scalar.isBroken === true);
}

function someScalar(node: LocatedValue, isMeant: (scalar: LocatedScalar) => boolean): boolean {
  if (node.kind === "scalar") return isMeant(node);
  if (node.kind === "list") return node.items.some((item) => someScalar(item, isMeant));
  for (const { value } of node.entries.values()) if (someScalar(value, isMeant)) return true;
  return false;
}
