/**
 * The two ways to write a runtime: as a map with its keys in it, or as a word with its keys beside it. Both become the map
 * that the runner takes. Keys beside it that another runtime has stay, to be complained about; those of the defaults go. Pure.
 */
import { type LocatedEntry, type LocatedMap, mapWith, textOf } from "./yaml/located-value.js";
import { keysBesideRuntime, keysOfRuntime } from "../scheduler/definition/schema/runtime-schema.js";

/** Makes a map of a word, so that layers can be merged. */
export function withRuntimeMap(layer: LocatedMap): LocatedMap {
  const runtime = layer.entries.get("runtime");
  if (runtime?.value.kind !== "scalar" || typeof runtime.value.value !== "string") return layer;
  const { place, isDefault } = runtime.value;
  const entries = new Map([["type", { key: runtime.key, value: runtime.value }]]);
  const value: LocatedMap = { kind: "map", place, isDefault, entries };
  return mapWith(layer, [["runtime", { key: runtime.key, value }]]);
}

/** Moves the keys beside a runtime into it. What is in it already counts. */
export function gatherRuntime(agent: LocatedMap): LocatedMap {
  const runtime = agent.entries.get("runtime");
  const map = runtime?.value.kind === "map" ? runtime.value : undefined;
  const own = keysOfRuntime(textOf(map, "type") ?? "") ?? [];
  const moved: [string, LocatedEntry][] = [];
  const gone: [string, undefined][] = [];
  for (const key of keysBeside()) {
    const entry = agent.entries.get(key);
    if (entry === undefined) continue;
    if (map !== undefined && own.includes(key) && !map.entries.has(key)) moved.push([key, entry]);
    else if (entry.value.isDefault !== true) continue;
    gone.push([key, undefined]);
  }
  if (runtime === undefined || map === undefined) return mapWith(agent, gone);
  return mapWith(agent, [...gone, ["runtime", { key: runtime.key, value: mapWith(map, moved) }]]);
}

/** Which types of runtimes have the key. */
export function runtimesWith(key: string, types: readonly string[]): readonly string[] {
  return types.filter((type) => keysOfRuntime(type)?.includes(key));
}

let known: readonly string[] | undefined;

/** An agent has `env` itself. */
function keysBeside(): readonly string[] {
  known ??= Object.keys(keysBesideRuntime()).filter((key) => key !== "env");
  return known;
}
