/**
 * Reads YAML that is not as Rota writes it: files that were edited or damaged. What is damaged is named and left out,
 * down to the single schedule; everything around it is kept.
 */
import type { Fields } from "../../../fields.js";
import { problemOf } from "../../validate-state.js";
import type { AgentFields } from "./state-document.js";
import { salvageYaml } from "./salvage-yaml.js";
import { faultIn, fieldsOf, valueOf, type YamlBranch, type YamlTree } from "./yaml-tree.js";

/** Something in the file that could not be used. */
export interface Damage {
  /** The entry that was left out, as the keys that lead to it; none for the file as a whole. */
  readonly where: readonly string[];
  /** How many characters of the text come before it. */
  readonly offset: number;
  readonly problem: string;
}

export interface ReadText {
  /** Top-level keys other than `agents`. */
  readonly head: Fields;
  readonly agents: readonly AgentFields[];
  readonly damages: readonly Damage[];
}

/** Keys of the file, agents, keys of an agent, schedules, keys of a schedule. */
const LEVELS = 5;

/** What the text of a whole file says, or of that part which is not agents, or why it says nothing. */
export async function readYamlFile(text: string): Promise<ReadText | Damage> {
  const tree = await salvageYaml(text, LEVELS);
  const damages: Damage[] = [];
  const entries = entriesOf(tree, [], damages);
  if (entries === undefined) return damages[0] ?? { where: [], offset: 0, problem: "it is empty" };
  const head: [string, unknown][] = [];
  let agents: AgentFields[] = [];
  for (const [key, entry] of entries) {
    if (key === "agents") agents = readAgents(entry, damages);
    else if (isSound(entry, [key], damages)) head.push([key, valueOf(entry)]);
  }
  return { head: Object.fromEntries(head), agents, damages };
}

/** What one agent's chunk says. */
export async function readYamlAgent(text: string): Promise<ReadText> {
  const damages: Damage[] = [];
  const agents = readAgents(await salvageYaml(text, LEVELS - 1), damages);
  return { head: {}, agents, damages };
}

function readAgents(tree: YamlTree, damages: Damage[]): AgentFields[] {
  const entries = entriesOf(tree, ["agents"], damages) ?? [];
  return Array.from(entries, ([name, entry]) => readAgent(name, entry, damages)).filter(
    (agent) => agent !== undefined,
  );
}

function readAgent(name: string, tree: YamlTree, damages: Damage[]): AgentFields | undefined {
  const entries = entriesOf(tree, ["agents", name], damages);
  if (entries === undefined) return undefined;
  const other: [string, unknown][] = [];
  let schedules: ReadonlyMap<string, Fields> = new Map<string, Fields>();
  for (const [key, entry] of entries) {
    if (key === "schedules") schedules = readSchedules(entry, name, damages);
    else if (isSound(entry, ["agents", name, key], damages)) other.push([key, valueOf(entry)]);
  }
  return { name, other: Object.fromEntries(other), schedules };
}

function readSchedules(tree: YamlTree, agent: string, damages: Damage[]): Map<string, Fields> {
  const schedules = new Map<string, Fields>();
  const path = ["agents", agent, "schedules"];
  for (const [name, entry] of entriesOf(tree, path, damages) ?? []) {
    const state = readSchedule(entry, [...path, name], damages);
    if (state !== undefined) schedules.set(name, state);
  }
  return schedules;
}

function readSchedule(tree: YamlTree, where: readonly string[], damages: Damage[]): Fields | undefined {
  if (tree.kind !== "map") return entriesOf(tree, where, damages) === undefined ? undefined : {};
  const fault = faultIn(tree);
  const state = fieldsOf(tree);
  const problem = fault?.problem ?? problemOf(state);
  if (problem === undefined) return state;
  damages.push({ where, offset: fault?.offset ?? tree.offset, problem });
  // A schedule that was switched off must not start.
  return isDisabled(tree) ? { status: "disabled" } : undefined;
}

function isDisabled({ entries, faults }: YamlBranch): boolean {
  const statuses = faults.map(({ double }) => (double?.key === "status" ? double.tree : undefined));
  return [entries.get("status"), ...statuses].some(
    (status) => status?.kind === "value" && status.value === "disabled",
  );
}

/** What a map holds, nothing for an empty place, and `undefined`, with a damage, for anything else. */
function entriesOf(
  tree: YamlTree,
  where: readonly string[],
  damages: Damage[],
): ReadonlyMap<string, YamlTree> | undefined {
  if (tree.kind === "map") {
    for (const { offset, problem } of tree.faults) damages.push({ where, offset, problem });
    return tree.entries;
  }
  const isEmpty = tree.kind === "value" && tree.value === null;
  if (isEmpty && where.length > 0) return new Map();
  const expected = isEmpty ? "it is empty" : "expected a map of keys and values";
  damages.push({ where, offset: tree.offset, problem: tree.kind === "broken" ? tree.problem : expected });
  return undefined;
}

function isSound(tree: YamlTree, where: readonly string[], damages: Damage[]): boolean {
  const fault = faultIn(tree);
  if (fault !== undefined) damages.push({ where, offset: fault.offset, problem: fault.problem });
  return fault === undefined;
}
