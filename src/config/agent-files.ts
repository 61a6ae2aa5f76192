/**
 * Follows the `path:` of an agent to its file, and from there to the next: values nearer to the fleet's file win.
 * A missing file, a cycle of files, or a file that does not describe an agent is a problem of the line that names the file.
 */
import { resolve } from "node:path";
import { closest } from "../closest.js";
import { quote } from "../errors.js";
import { shown } from "../scheduler/definition/check-value.js";
import type { Path } from "../scheduler/definition/fault.js";
import { type LocatedMap, type LocatedValue, mapWith } from "./yaml/located-value.js";
import { mergeMaps } from "./yaml/merge-layers.js";
import type { ProblemList } from "./problem-list.js";
import type { ConfigDocument } from "./yaml/read-yaml.js";
import { withRuntimeMap } from "./runtime-keys.js";

/** A document by its absolute path, or why it cannot be read: a sentence without its subject. */
export type DocumentLookup = (path: string) => ConfigDocument | string;

export class AgentFiles {
  readonly #lookUp: DocumentLookup;
  readonly #problems: ProblemList;
  readonly #agentKeys: () => readonly string[];
  readonly #paths = new Set<string>();

  constructor(lookUp: DocumentLookup, problems: ProblemList, agentKeys: () => readonly string[]) {
    this.#lookUp = lookUp;
    this.#problems = problems;
    this.#agentKeys = agentKeys;
  }

  /** The absolute paths of all files that were looked up. */
  get paths(): readonly string[] {
    return [...this.#paths];
  }

  /** The agent merged with its file; `undefined` when the file cannot be used, which is reported. */
  expand(node: LocatedValue, path: Path, trail: readonly string[]): LocatedValue | undefined {
    if (node.kind !== "map") return node;
    const agent = withRuntimeMap(node);
    const named = agent.entries.get("path")?.value;
    if (named === undefined) return agent;
    const own = mapWith(agent, [["path", undefined]]);
    const base = this.#base(named, path, trail);
    if (base === undefined || base.kind !== "map") return base;
    return mergeMaps(base, own);
  }

  #base(named: LocatedValue, path: Path, trail: readonly string[]): LocatedValue | undefined {
    const { range } = named;
    const at = { path: [...path, "path"], range };
    if (named.kind !== "scalar" || typeof named.value !== "string" || named.value === "") {
      const expected = "the path of a file that describes an agent";
      const given = shown(named.kind === "scalar" ? named.value : {});
      const message = `Invalid path ${given}: expected ${expected}`;
      if (named.kind !== "scalar" || named.isBroken !== true)
        this.#problems.add({ code: "INVALID_VALUE", message, ...at, given, expected });
      return undefined;
    }
    if (named.isBroken === true) return undefined;
    const absolute = resolve(range.source.directory ?? "", named.value);
    const given = quote(named.written ?? named.value);
    if (trail.includes(absolute)) {
      const message = `The file ${given} refers back to itself: remove this path`;
      this.#problems.add({ code: "FILE_CYCLE", message, ...at, given });
      return undefined;
    }
    this.#paths.add(absolute);
    const found = this.#lookUp(absolute);
    // The lines of a file that belongs to a different program may be secret: no message shows them.
    const isAgent = typeof found === "string" || describesAgent(found, this.#agentKeys());
    const document = isAgent ? found : NO_AGENT;
    if (typeof document === "string") {
      this.#problems.add({ code: "UNREADABLE_FILE", message: `The file ${given} ${document}`, ...at, given });
      return undefined;
    }
    return this.#root(document, path, [...trail, absolute]);
  }

  #root(document: ConfigDocument, path: Path, trail: readonly string[]): LocatedValue | undefined {
    for (const fault of document.faults) this.#problems.add({ ...fault, path: [...path, ...fault.path] });
    return document.root === undefined ? undefined : this.expand(document.root, path, trail);
  }
}

const NO_AGENT =
  "does not describe an agent: expected a YAML map with keys such as name, runtime and schedules";
/** A key at the left margin, or the first one of a map in braces. */
const TOP_KEY = /^(?:\{\s*)?["']?([a-z_]{1,64})["']?[ \t]*:/gm;

/** Whether at least one key at the top of the document is one of an agent, or is nearly spelled so. */
function describesAgent({ root, source, faults }: ConfigDocument, agentKeys: readonly string[]): boolean {
  // Of text that is not valid YAML, the keys at the left margin tell.
  if (root === undefined)
    return Array.from(source.text.matchAll(TOP_KEY)).some(([, key = ""]) => agentKeys.includes(key));
  if (root.kind !== "map") return root.kind === "scalar" && root.value === null;
  const keys = [...root.entries.keys()];
  if (keys.length === 0) return faults.length === 0;
  return keys.some((key) => closest(key, agentKeys) !== undefined);
}

/** The files that the agents of a document name. */
export function filesNamedBy({ root }: ConfigDocument): readonly string[] {
  if (root?.kind !== "map") return [];
  const agents = root.entries.get("agents")?.value;
  const holders = agents?.kind === "list" ? [root, ...agents.items] : [root];
  return holders.flatMap((holder) => pathOf(holder) ?? []);
}

function pathOf(holder: LocatedValue | LocatedMap): string | undefined {
  const named = holder.kind === "map" ? holder.entries.get("path")?.value : undefined;
  if (named?.kind !== "scalar" || typeof named.value !== "string" || named.isBroken === true)
    return undefined;
  return named.value === "" ? undefined : resolve(named.range.source.directory ?? "", named.value);
}
