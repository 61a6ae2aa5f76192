/**
 * Converts a checked agent of a file to the agent that a scheduler accepts: each schedule gets the values that the file
 * gives for all of them, and paths are resolved from the directory of the file that contains them. Pure.
 */
import { resolve } from "node:path";
import { type Fields, isFields } from "../fields.js";
import type { AgentRuntime } from "../runner/agent-runtime.js";
import type { Agent, AgentSchedule } from "../scheduler/agent.js";
import { validateSchedule } from "../scheduler/timing/schedule.js";
import {
  entryOf,
  type LocatedValue,
  type LocatedMap,
  plainValue,
  scalarOf,
  textOf,
} from "./yaml/located-value.js";

export interface BuiltAgent {
  readonly agent: Agent;
  /** The names of the schedules with `enabled: false`, which the agent does not have. */
  readonly disabled: readonly string[];
}

/** The keys that are converted; all other keys are copied. */
const CONVERTED = new Set(["env", "on_failure", "runtime", "schedules", "timeout", "work_source"]);

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
  const copied: Record<string, unknown> = {};
  for (const [key, { value }] of tree.entries) if (!CONVERTED.has(key)) copied[key] = plainValue(value);
  const runtime = buildRuntime(tree);
  const timeout = scalarOf(tree, "timeout") ?? undefined;
  if (timeout !== undefined) copied["timeout"] = timeout;
  const name = textOf(tree, "name") ?? "";
  return { agent: { ...copied, name, ...(runtime === undefined ? {} : { runtime }), schedules }, disabled };
}

function buildSchedule(tree: LocatedValue, agent: LocatedMap): Record<string, unknown> {
  const { work_source: _, ...schedule } = fieldsOf(tree);
  // A schedule without a timeout has the agent's, so "no limit" needs a value.
  if (schedule["timeout"] === null) schedule["timeout"] = Infinity;
  const type = schedule["type"];
  const onFailure = textOf(agent, "on_failure");
  if (onFailure !== undefined && (type === "interval" || type === "cron"))
    schedule["on_failure"] ??= onFailure;
  const source = sourceOf(entryOf(tree, "work_source") ?? entryOf(agent, "work_source"));
  return source === undefined ? schedule : { ...schedule, work_source: source };
}

/** `undefined` for `work_source: null`, which switches the agent's source off. */
function sourceOf(tree: LocatedValue | undefined): Fields | undefined {
  if (tree?.kind !== "map") return undefined;
  const source = fieldsOf(tree);
  return source["type"] === "directory" ? { ...source, path: resolvedPath(tree, "path") } : source;
}

function buildRuntime(agent: LocatedMap): AgentRuntime | undefined {
  const tree = entryOf(agent, "runtime");
  if (tree === undefined) return undefined;
  const runtime = fieldsOf(tree);
  if (runtime["type"] === "command") {
    const env = { ...fieldsOf(entryOf(agent, "env")), ...fieldsOf(entryOf(tree, "env")) };
    if (Object.keys(env).length > 0) runtime["env"] = env;
    // So a command does not depend on the directory that Rota was started in.
    const cwd = resolvedPath(tree, "cwd") ?? entryOf(tree, "command")?.range.source.directory;
    if (cwd !== undefined) runtime["cwd"] = cwd;
  }
  return isRuntime(runtime) ? runtime : undefined;
}

/** The keys of each type were checked by the schemas. */
function isRuntime(runtime: Fields): runtime is AgentRuntime & Fields {
  return typeof runtime["type"] === "string";
}

/** The absolute path of a key; `undefined` without the key. */
export function resolvedPath(tree: LocatedValue, key: string): string | undefined {
  const path = textOf(tree, key);
  return path === undefined ? undefined : resolve(entryOf(tree, key)?.range.source.directory ?? "", path);
}

function fieldsOf(tree: LocatedValue | undefined): Record<string, unknown> {
  const value = tree === undefined ? {} : plainValue(tree);
  return isFields(value) ? { ...value } : {};
}
