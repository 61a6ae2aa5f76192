/**
 * How two layers of configuration become one, such as defaults and an agent: maps are merged key by key, anything else is
 * replaced. A map of another `type` replaces as well, because its keys mean something else. Pure.
 */
import { type Located, type LocatedEntry, type LocatedMap, textOf } from "./located-value.js";

/** Two words for one thing in a cron schedule: whoever gives one replaces the other. */
const SAME: Readonly<Record<string, string>> = { cron: "expression", expression: "cron" };

export function mergeMaps(base: LocatedMap, over: LocatedMap): LocatedMap {
  const entries = new Map(base.entries);
  const isCron = textOf(base, "type") === "cron";
  for (const [key, entry] of over.entries) {
    if (isCron) entries.delete(SAME[key] ?? "");
    const before = entries.get(key);
    entries.set(key, before === undefined ? entry : merged(before, entry));
  }
  // What both give was written twice, and is to be found twice.
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

/** The same, marked as what an agent did not say itself. */
export function asDefault(map: LocatedMap): LocatedMap {
  const mark = (node: Located): Located =>
    node.kind === "map" ? asDefault(node) : { ...node, isDefault: true };
  const entries = Array.from(map.entries, ([key, entry]): [string, LocatedEntry] => [
    key,
    { key: entry.key, value: mark(entry.value) },
  ]);
  return { ...map, isDefault: true, entries: new Map(entries) };
}
