/**
 * From documents to a configuration: merges defaults, files and agents, checks every part, and collects whatever is wrong
 * with any of them. Reads nothing itself: documents are looked up.
 */
import { resolve } from "node:path";
import { quote } from "../errors.js";
import type { Agent } from "../scheduler/agent.js";
import type { ScheduleKey } from "../state/store.js";
import { AgentFiles, type LookUp } from "./agent-files.js";
import { buildAgent, resolvedPath } from "./build-agent.js";
import { checkAgent } from "../scheduler/definition/check-agent.js";
import { checkValue } from "../scheduler/definition/check-value.js";
import type { Config } from "./config.js";
import { ConfigError } from "../scheduler/definition/errors.js";
import { fitVariables } from "./fit-variables.js";
import {
  entryOf,
  type Located,
  type LocatedMap,
  mapWith,
  plainValue,
  scalarOf,
  textOf,
} from "./yaml/located-value.js";
import { asDefault, mergeMaps } from "./yaml/merge-layers.js";
import { ProblemList } from "./problem-list.js";
import type { ConfigDocument } from "./yaml/read-yaml.js";
import { gatherRuntime, withRuntimeMap } from "./runtime-keys.js";
import {
  checkIntervalMs,
  type ConfigSchemas,
  configSchemas,
  type HostKeys,
} from "../scheduler/definition/schema/agent-schema.js";
import type { Place } from "./yaml/source-text.js";

const DEFAULT_STATE_DIRECTORY = ".rota";

export interface AssembleOptions {
  readonly host: HostKeys;
  readonly lookUp: LookUp;
  /** The absolute path of the document itself, where it has one. */
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
  readonly #schemas: ConfigSchemas;
  readonly #list = new ProblemList();
  readonly #agentFiles: AgentFiles;
  readonly #agents: Agent[] = [];
  readonly #disabled: ScheduleKey[] = [];
  /** By the place of an agent in the list, also of those that are wrong. */
  readonly #names: (string | undefined)[] = [];
  readonly #placesOfNames = new Map<string, Place>();

  constructor(document: ConfigDocument, { host, lookUp, path }: AssembleOptions) {
    this.#document = document;
    this.#path = path;
    this.#host = host;
    this.#schemas = configSchemas(host);
    this.#agentFiles = new AgentFiles(lookUp, this.#list);
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
      timezone: textOf(fleet, "timezone"),
      jitterPercent: numberOf(fleet, "jitter"),
      maxConcurrent: numberOf(fleet, "max_concurrent"),
      checkInterval: checkIntervalMs(scalarOf(fleet, "check_interval")),
      agents: this.#agents,
      disabled: this.#disabled,
      files: this.files,
    };
  }

  /** The keys of the fleet itself. Those that start with "x-" are the author's own, for anchors. */
  #fleet(root: Located): Located {
    const isEmpty = root.kind === "scalar" && root.value === null;
    const whole: Located = isEmpty ? { kind: "map", place: root.place, entries: new Map() } : root;
    const tree = whole.kind === "map" ? fleetOnly(whole) : whole;
    const fitted = fitVariables(this.#schemas.fleet, tree);
    this.#list.add(...checkValue(this.#schemas.fleet, { value: plainValue(fitted), tree: fitted, path: [] }));
    return fitted;
  }

  #defaults(node: Located | undefined): LocatedMap | undefined {
    if (node === undefined) return undefined;
    const layer = node.kind === "map" ? withRuntimeMap(node) : node;
    const tree = fitVariables(this.#schemas.defaults, layer);
    const value = plainValue(tree);
    this.#list.add(...checkValue(this.#schemas.defaults, { value, tree, path: ["defaults"] }));
    return tree.kind === "map" ? asDefault(tree) : undefined;
  }

  #agent(item: Located, index: number, defaults: LocatedMap | undefined): void {
    const path = ["agents", index];
    const name = writtenName(item);
    this.#names[index] = name;
    const expanded = this.#agentFiles.expand(item, path, this.#path === undefined ? [] : [this.#path]);
    if (expanded === undefined) return;
    this.#names[index] = writtenName(expanded) ?? name;
    const whole = expanded.kind === "map" ? gatherRuntime(merged(defaults, expanded)) : expanded;
    const tree = fitVariables(this.#schemas.agent, whole);
    const faults = checkAgent(this.#schemas.agent, { value: plainValue(tree), tree, path }, this.#host);
    this.#list.add(...faults);
    this.#checkName(tree, index);
    if (faults.length > 0 || !this.#list.isEmpty || tree.kind !== "map") return;
    const { agent, disabled } = buildAgent(tree);
    this.#agents.push(agent);
    for (const schedule of disabled) this.#disabled.push({ agent: agent.name, schedule });
  }

  #checkName(tree: Located, index: number): void {
    const node = entryOf(tree, "name");
    const name = textOf(tree, "name");
    if (node === undefined || name === undefined || (node.kind === "scalar" && node.isBroken === true))
      return;
    const first = this.#placesOfNames.get(name);
    if (first === undefined) {
      this.#placesOfNames.set(name, node.place);
      return;
    }
    const written = writtenName(tree);
    const { line } = first.source.positionAt(first.start);
    const where = first.source === node.place.source ? `line ${line}` : `${first.source.file}:${line}`;
    const message = `Two agents are named ${quote(written)}, the other in ${where}: every agent needs a name of its own`;
    const path = ["agents", index, "name"];
    this.#list.add({ code: "DUPLICATE_NAME", message, path, place: node.place, given: quote(written) });
  }
}

function merged(defaults: LocatedMap | undefined, agent: LocatedMap): LocatedMap {
  return defaults === undefined ? agent : mergeMaps(defaults, agent);
}

/** Without what is checked elsewhere: each agent, the defaults, and what is nobody's business. */
function fleetOnly(root: LocatedMap): LocatedMap {
  const agents = root.entries.get("agents");
  const own = [...root.entries.keys()].filter((key) => key.startsWith("x-"));
  const list = agents?.value.kind === "list" ? { ...agents, value: { ...agents.value, items: [] } } : agents;
  const changes = own.map((key) => [key, undefined] as const);
  return mapWith(root, [...changes, ["defaults", undefined], ["agents", list]]);
}

/** Without what variables have put into it. */
function writtenName(agent: Located): string | undefined {
  const node = entryOf(agent, "name");
  return (node?.kind === "scalar" ? node.written : undefined) ?? textOf(agent, "name");
}

function numberOf(tree: Located, key: string): number | undefined {
  const value = scalarOf(tree, key);
  return typeof value === "number" ? value : undefined;
}
