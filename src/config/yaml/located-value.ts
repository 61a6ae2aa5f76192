/**
 * Values that know where they were written, so that a merged agent can still say which line of which file is wrong.
 * Pure: read-yaml.ts makes them, merge-located.ts joins them.
 */
import type { Place } from "./source-text.js";

export type Located = LocatedMap | LocatedList | LocatedScalar;
export type Path = readonly (string | number)[];

interface LocatedBase {
  readonly place: Place;
  /** Whether it comes from `defaults`, and not from the agent itself. */
  readonly isDefault?: boolean | undefined;
}

export interface LocatedMap extends LocatedBase {
  readonly kind: "map";
  readonly entries: ReadonlyMap<string, LocatedEntry>;
}

export interface LocatedEntry {
  /** Where its key stands. */
  readonly key: Place;
  readonly value: Located;
}

export interface LocatedList extends LocatedBase {
  readonly kind: "list";
  readonly items: readonly Located[];
}

export interface LocatedScalar extends LocatedBase {
  readonly kind: "scalar";
  readonly value: string | number | boolean | null;
  /** The text before variables were put in; `undefined` where there were none. */
  readonly written?: string | undefined;
  /** Something was said about it already. */
  readonly isBroken?: boolean | undefined;
}

/** The value without its places. */
export function plainValue(node: Located): unknown {
  if (node.kind === "scalar") return node.value;
  if (node.kind === "list") return node.items.map(plainValue);
  return Object.fromEntries(Array.from(node.entries, ([key, { value }]) => [key, plainValue(value)]));
}

export function entryOf(node: Located | undefined, key: string): Located | undefined {
  return node?.kind === "map" ? node.entries.get(key)?.value : undefined;
}

export function scalarOf(node: Located | undefined, key: string): LocatedScalar["value"] | undefined {
  const value = entryOf(node, key);
  return value?.kind === "scalar" ? value.value : undefined;
}

/** The text under a key, where there is one. */
export function textOf(node: Located | undefined, key: string): string | undefined {
  const value = scalarOf(node, key);
  return typeof value === "string" ? value : undefined;
}

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

export interface Found {
  /** `undefined` when the path leads to nothing. */
  readonly node: Located | undefined;
  /** Of the node, or of the nearest that there is. */
  readonly place: Place;
}

/** What a path leads to. What is missing is at the key of the map that misses it. */
export function find(root: Located, path: Path): Found {
  let node = root;
  let { place } = root;
  for (const step of path) {
    const entry = node.kind === "map" ? node.entries.get(String(step)) : undefined;
    const next = node.kind === "list" ? node.items[Number(step)] : entry?.value;
    if (next === undefined) return { node: undefined, place };
    node = next;
    place = entry !== undefined && next.kind !== "scalar" ? entry.key : next.place;
  }
  return { node, place: node.place };
}

/** Where the key at the end of a path stands. */
export function placeOfKey(root: Located, path: Path, key: string): Place {
  const { node, place } = find(root, path);
  return (node?.kind === "map" ? node.entries.get(key)?.key : undefined) ?? place;
}

/** Whether variables were put into it, so that its value may be secret. */
export function isInterpolated(node: Located): boolean {
  return hasScalar(node, ({ written }) => written !== undefined);
}

/** Whether something was said already about a part of it. */
export function isBroken(node: Located): boolean {
  return hasScalar(node, (scalar) => scalar.isBroken === true);
}

function hasScalar(node: Located, isMeant: (scalar: LocatedScalar) => boolean): boolean {
  if (node.kind === "scalar") return isMeant(node);
  if (node.kind === "list") return node.items.some((item) => hasScalar(item, isMeant));
  for (const { value } of node.entries.values()) if (hasScalar(value, isMeant)) return true;
  return false;
}
