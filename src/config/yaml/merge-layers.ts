/**
 * Merges two layers of a configuration, such as the defaults and an agent: maps key by key, and of all other values the
 * upper layer's wins. A map of a different `type` replaces the lower one, because its keys mean something else. Pure.
 */
import { type LocatedValue, type LocatedEntry, type LocatedMap, textOf } from "./located-value.js";

/** `cron` and `expression` are aliases: either one of the upper layer replaces the other one of the lower layer. */
const ALIAS: Readonly<Record<string, string>> = { cron: "expression", expression: "cron" };

export function mergeMaps(base: LocatedMap, over: LocatedMap): LocatedMap {
  const entries = new Map(base.entries);
  const isCron = textOf(base, "type") === "cron";
  for (const [key, entry] of over.entries) {
    if (isCron) entries.delete(ALIAS[key] ?? "");
    const before = entries.get(key);
    entries.set(key, before === undefined ? entry : merged(before, entry));
  }
  // An upper layer with both aliases keeps both, so that the checks report it.
  for (const [key, entry] of over.entries) if (!entries.has(key)) entries.set(key, entry);
  return { ...over, entries };
}

function merged(before: LocatedEntry, entry: LocatedEntry): LocatedEntry {
  const { value: base } = before;
  const { value: over } = entry;
  if (base.kind !== "map" || over.kind !== "map") return entry;
  const type = textOf(over, "type");
  if (type !== undefined && type !== textOf(base, "type")) return entry;
  return { key: entry.key, value: mergeMaps(base, over) };
}

/** A copy that is marked as coming from the defaults. */
export function asDefault(map: LocatedMap): LocatedMap {
  const mark = (node: LocatedValue): LocatedValue =>
    node.kind === "map" ? asDefault(node) : { ...node, isDefault: true };
  const entries = Array.from(map.entries, ([key, entry]): [string, LocatedEntry] => [
    key,
    { key: entry.key, value: mark(entry.value) },
  ]);
  return { ...map, isDefault: true, entries: new Map(entries) };
}
