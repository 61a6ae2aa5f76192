/**
 * Makes a configuration of documents: merges defaults, files and agents, checks every part, and collects all problems.
 * Reads no files: `lookUp` returns the documents.
 */
import { resolve } from "node:path";
import type { Agent } from "../scheduler/agent.js";
import { checkAgent } from "../scheduler/definition/check-agent.js";
import { duplicateName } from "../scheduler/definition/check-agents.js";
import { checkValue, type Subject } from "../scheduler/definition/check-value.js";
import { ConfigError } from "../scheduler/definition/errors.js";
import type { Path } from "../scheduler/definition/fault.js";
import type { HostKeys } from "../scheduler/definition/host-keys.js";
import { RUNTIMES } from "../scheduler/definition/schema/runtime-schema.js";
import type { ScheduleKey } from "../state/store.js";
import { AgentFiles, type DocumentLookup } from "./agent-files.js";
import { buildAgent, resolvedPath } from "./build-agent.js";
import type { Config } from "./config.js";
import { fitVariables } from "./fit-variables.js";
import { ProblemList } from "./problem-list.js";
import { gatherRuntime, withRuntimeMap } from "./runtime-keys.js";
import { agentFileKeys, checkIntervalMs, type FileSchemas, fileSchemas } from "./schema/file-schema.js";
import { jobLimitsOf } from "./schema/job-limits.js";
import {
  entryOf,
  type LocatedFault,
  type LocatedMap,
  type LocatedValue,
  locateFaults,
  mapWith,
  originOf,
  plainValue,
  rangeOfKey,
  scalarOf,
  textOf,
} from "./yaml/located-value.js";
import { asDefault, mergeMaps } from "./yaml/merge-layers.js";
import type { ConfigDocument } from "./yaml/read-yaml.js";
import type { SourceRange } from "./yaml/source-text.js";

const DEFAULT_STATE_DIRECTORY = ".rota";

export interface AssembleOptions {
  readonly host: HostKeys;
  readonly lookUp: DocumentLookup;
  /** The absolute path of the document; `undefined` for a text without a file. */
  readonly path: string | undefined;
}

/** Throws ConfigError with all problems. */
export function assemble(document: ConfigDocument, options: AssembleOptions): Config {
  const assembly = new Assembly(document, options);
  const config = assembly.config();
  if (config !== undefined) return config;
  throw new ConfigError(assembly.problems, { file: document.source.file, files: assembly.files });
}

class Assembly {
  readonly #document: ConfigDocument;
  readonly #path: string | undefined;
  readonly #host: HostKeys;
  readonly #schemas: FileSchemas;
  readonly #list = new ProblemList();
  readonly #agentFiles: AgentFiles;
  readonly #agents: Agent[] = [];
  readonly #disabled: ScheduleKey[] = [];
  /** By the index of the agent in the list, for wrong agents too. */
  readonly #names: (string | undefined)[] = [];
  readonly #rangesOfNames = new Map<string, SourceRange>();

  constructor(document: ConfigDocument, { host, lookUp, path }: AssembleOptions) {
    this.#document = document;
    this.#path = path;
    this.#host = host;
    this.#schemas = fileSchemas(host);
    this.#agentFiles = new AgentFiles(lookUp, this.#list, () => agentFileKeys(host));
  }

  get problems(): ConfigError["problems"] {
    return this.#list.problems((index) => this.#names[index]);
  }

  get files(): readonly string[] {
    return this.#path === undefined ? this.#agentFiles.paths : [this.#path, ...this.#agentFiles.paths];
  }

  /** `undefined` when there are problems. */
  config(): Config | undefined {
    const { root, faults, source } = this.#document;
    this.#list.add(...faults);
    if (root === undefined) return undefined;
    const fleet = this.#fleet(root);
    const defaults = this.#defaults(entryOf(root, "defaults"));
    const agents = entryOf(root, "agents");
    if (agents?.kind === "list")
      for (const [index, item] of agents.items.entries()) {
        if (this.#list.isFull) break;
        this.#agent(item, index, defaults);
      }
    if (!this.#list.isEmpty) return undefined;
    return {
      version: 1,
      stateDir: resolvedPath(fleet, "state_dir") ?? resolve(source.directory ?? "", DEFAULT_STATE_DIRECTORY),
      database: databaseOf(fleet),
      jobs: jobLimitsOf(fleet),
      timezone: textOf(fleet, "timezone"),
      jitterPercent: numberOf(fleet, "jitter"),
      maxConcurrent: numberOf(fleet, "max_concurrent"),
      checkInterval: checkIntervalMs(scalarOf(fleet, "check_interval")),
      agents: this.#agents,
      agentKeys: this.#host.agentKeys,
      disabled: this.#disabled,
      files: this.files,
    };
  }

  /** Checks the keys of the fleet itself. */
  #fleet(root: LocatedValue): LocatedValue {
    const isEmpty = root.kind === "scalar" && root.value === null;
    const whole: LocatedValue = isEmpty ? { kind: "map", range: root.range, entries: new Map() } : root;
    const tree = whole.kind === "map" ? fleetOnly(whole) : whole;
    const fitted = fitVariables(this.#schemas.fleet, tree);
    this.#list.add(...locateFaults(checkValue(this.#schemas.fleet, subjectOf(fitted, [])), fitted, []));
    return fitted;
  }

  #defaults(node: LocatedValue | undefined): LocatedMap | undefined {
    if (node === undefined) return undefined;
    const layer = node.kind === "map" ? withRuntimeMap(node) : node;
    const tree = fitVariables(this.#schemas.defaults, layer);
    const path = ["defaults"];
    this.#list.add(...locateFaults(checkValue(this.#schemas.defaults, subjectOf(tree, path)), tree, path));
    return tree.kind === "map" ? asDefault(tree) : undefined;
  }

  #agent(item: LocatedValue, index: number, defaults: LocatedMap | undefined): void {
    const path = ["agents", index];
    const name = writtenName(item);
    this.#names[index] = name;
    const expanded = this.#agentFiles.expand(item, path, this.#path === undefined ? [] : [this.#path]);
    if (expanded === undefined) return;
    this.#names[index] = writtenName(expanded) ?? name;
    const whole = expanded.kind === "map" ? gatherRuntime(merged(defaults, expanded)) : expanded;
    const tree = fitVariables(this.#schemas.agent, whole);
    const checked = checkAgent(this.#schemas.agent, subjectOf(tree, path), this.#host);
    const faults = [...locateFaults(checked, tree, path), ...checkEnv(tree, path)];
    this.#list.add(...faults);
    this.#checkName(tree, index);
    if (faults.length > 0 || !this.#list.isEmpty || tree.kind !== "map") return;
    const { agent, disabled } = buildAgent(tree);
    this.#agents.push(agent);
    for (const schedule of disabled) this.#disabled.push({ agent: agent.name, schedule });
  }

  #checkName(tree: LocatedValue, index: number): void {
    const node = entryOf(tree, "name");
    const name = textOf(tree, "name");
    if (node === undefined || name === undefined || (node.kind === "scalar" && node.isBroken === true))
      return;
    const first = this.#rangesOfNames.get(name);
    if (first === undefined) {
      this.#rangesOfNames.set(name, node.range);
      return;
    }
    const { line } = first.source.positionAt(first.start);
    const where = first.source === node.range.source ? `line ${line}` : `${first.source.file}:${line}`;
    const fault = duplicateName(writtenName(tree) ?? name, ["agents", index, "name"], `in ${where}`);
    this.#list.add({ ...fault, range: node.range });
  }
}

function subjectOf(tree: LocatedValue, path: Path): Subject {
  return { value: plainValue(tree), path, origin: originOf(tree) };
}

/** Reports variables of an agent without a command, which would be ignored; the defaults may have them for other agents. */
function checkEnv(tree: LocatedValue, path: Path): readonly LocatedFault[] {
  const env = entryOf(tree, "env");
  const type = textOf(entryOf(tree, "runtime"), "type");
  if (env === undefined || env.isDefault === true || type === "command") return [];
  if (type !== undefined && !Object.hasOwn(RUNTIMES, type)) return [];
  const runtime = type === undefined ? "no runtime" : `a runtime of type ${type}`;
  const message = `Only a command has an env, and this agent has ${runtime}: remove it`;
  return [{ code: "INVALID_VALUE", message, path: [...path, "env"], range: rangeOfKey(tree, [], "env") }];
}

function merged(defaults: LocatedMap | undefined, agent: LocatedMap): LocatedMap {
  return defaults === undefined ? agent : mergeMaps(defaults, agent);
}

/** Removes the agents and the defaults, which are checked apart, and the author's "x-" keys, which hold anchors. */
function fleetOnly(root: LocatedMap): LocatedMap {
  const agents = root.entries.get("agents");
  const own = [...root.entries.keys()].filter((key) => key.startsWith("x-"));
  const list = agents?.value.kind === "list" ? { ...agents, value: { ...agents.value, items: [] } } : agents;
  const changes = own.map((key) => [key, undefined] as const);
  return mapWith(root, [...changes, ["defaults", undefined], ["agents", list]]);
}

/** The name with its variables as written. */
function writtenName(agent: LocatedValue): string | undefined {
  const node = entryOf(agent, "name");
  return (node?.kind === "scalar" ? node.written : undefined) ?? textOf(agent, "name");
}

/** An empty address, such as that of an unset variable with an empty default, means none. */
function databaseOf(fleet: LocatedValue): Config["database"] {
  const url = textOf(fleet, "database")?.trim() ?? "";
  return url === "" ? undefined : { url, schema: textOf(fleet, "database_schema") };
}

function numberOf(tree: LocatedValue, key: string): number | undefined {
  const value = scalarOf(tree, key);
  return typeof value === "number" ? value : undefined;
}
