/**
 * An agent may give its runtime as a map, or as the name of a type with the keys beside it. Both become the map that the
 * runner accepts. A key of a different runtime stays, so that the checks report it; one from the defaults is removed. Pure.
 */
import { type LocatedEntry, type LocatedMap, mapWith, textOf } from "./yaml/located-value.js";
import { keysBesideRuntime, keysOfRuntime } from "../scheduler/definition/schema/runtime-schema.js";

/** Converts the name of a type to a map, so that layers can be merged. */
export function withRuntimeMap(layer: LocatedMap): LocatedMap {
  const runtime = layer.entries.get("runtime");
  if (runtime?.value.kind !== "scalar" || typeof runtime.value.value !== "string") return layer;
  const { range, isDefault } = runtime.value;
  const entries = new Map([["type", { key: runtime.key, value: runtime.value }]]);
  const value: LocatedMap = { kind: "map", range, isDefault, entries };
  return mapWith(layer, [["runtime", { key: runtime.key, value }]]);
}

/** Moves the keys beside a runtime into it. A key that the runtime has already wins. */
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

let known: readonly string[] | undefined;

/** Without `env`, which is a key of the agent too. */
function keysBeside(): readonly string[] {
  known ??= Object.keys(keysBesideRuntime()).filter((key) => key !== "env");
  return known;
}
