/**
 * Makes of a checked agent in a file the plain agent that a scheduler takes: what the file says once for all its schedules
 * is given to each, and paths are resolved against the directory of the file that has them. Pure.
 */
import { resolve } from "node:path";
import { type Fields, isFields } from "../fields.js";
import type { Agent, AgentSchedule } from "../scheduler/agent.js";
import { validateSchedule } from "../scheduler/timing/schedule.js";
import {
  entryOf,
  type Located,
  type LocatedMap,
  plainValue,
  scalarOf,
  textOf,
} from "./yaml/located-value.js";

export interface BuiltAgent {
  readonly agent: Agent;
  /** The names of schedules that are switched off, and therefore left out. */
  readonly disabled: readonly string[];
}

/** Keys of a file that the scheduler does not have. */
const TAKEN_APART = new Set(["env", "on_failure", "runtime", "schedules", "timeout", "work_source"]);

export function buildAgent(tree: LocatedMap): BuiltAgent {
  const disabled: string[] = [];
  const schedules: Record<string, AgentSchedule> = {};
  const scheduleTrees = entryOf(tree, "schedules");
  for (const [name, { value }] of scheduleTrees?.kind === "map" ? scheduleTrees.entries : []) {
    const { enabled = true, ...schedule } = buildSchedule(value, tree);
    validateSchedule(schedule);
    if (enabled === true) schedules[name] = schedule;
    else disabled.push(name);
  }
  const others: Record<string, unknown> = {};
  for (const [key, { value }] of tree.entries) if (!TAKEN_APART.has(key)) others[key] = plainValue(value);
  const runtime = buildRuntime(tree);
  const timeout = scalarOf(tree, "timeout") ?? undefined;
  if (timeout !== undefined) others["timeout"] = timeout;
  const name = textOf(tree, "name") ?? "";
  return { agent: { ...others, name, ...(runtime === undefined ? {} : { runtime }), schedules }, disabled };
}

function buildSchedule(tree: Located, agent: LocatedMap): Record<string, unknown> {
  const { work_source: _, ...schedule } = fieldsOf(tree);
  // Nothing would mean the agent's.
  if (schedule["timeout"] === null) schedule["timeout"] = Infinity;
  const type = schedule["type"];
  const onFailure = textOf(agent, "on_failure");
  if (onFailure !== undefined && (type === "interval" || type === "cron"))
    schedule["on_failure"] ??= onFailure;
  const source = sourceOf(entryOf(tree, "work_source") ?? entryOf(agent, "work_source"));
  return source === undefined ? schedule : { ...schedule, work_source: source };
}

/** `null` says that there is none. */
function sourceOf(tree: Located | undefined): Fields | undefined {
  if (tree?.kind !== "map") return undefined;
  const source = fieldsOf(tree);
  return source["type"] === "directory" ? { ...source, path: resolvedPath(tree, "path") } : source;
}

function buildRuntime(agent: LocatedMap): (Fields & { readonly type: string }) | undefined {
  const tree = entryOf(agent, "runtime");
  const type = textOf(tree, "type");
  if (tree === undefined || type === undefined) return undefined;
  const runtime = { ...fieldsOf(tree), type };
  if (type !== "command") return runtime;
  const env = { ...fieldsOf(entryOf(agent, "env")), ...fieldsOf(entryOf(tree, "env")) };
  // The same command does the same wherever Rota was started.
  const cwd = resolvedPath(tree, "cwd") ?? entryOf(tree, "command")?.place.source.directory;
  return {
    ...runtime,
    ...(cwd === undefined ? {} : { cwd }),
    ...(Object.keys(env).length === 0 ? {} : { env }),
  };
}

/** The path under a key, absolute, where the key is there. */
export function resolvedPath(tree: Located, key: string): string | undefined {
  const path = textOf(tree, key);
  return path === undefined ? undefined : resolve(entryOf(tree, key)?.place.source.directory ?? "", path);
}

function fieldsOf(tree: Located | undefined): Record<string, unknown> {
  const value = tree === undefined ? {} : plainValue(tree);
  return isFields(value) ? { ...value } : {};
}
