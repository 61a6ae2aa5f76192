/**
 * Follows the `path:` of an agent to the file that describes it, and on from there: what stands nearer to the fleet
 * counts more. A file that is missing, or leads back to itself, is a problem of the line that names it.
 */
import { resolve } from "node:path";
import { quote } from "../errors.js";
import { shown } from "../scheduler/definition/check-value.js";
import { type Located, type LocatedMap, mapWith, type Path } from "./yaml/located-value.js";
import { mergeMaps } from "./yaml/merge-layers.js";
import type { ProblemList } from "./problem-list.js";
import type { ConfigDocument } from "./yaml/read-yaml.js";
import { withRuntimeMap } from "./runtime-keys.js";

/** A document by its absolute path, or why there is none: a sentence without its subject. */
export type LookUp = (path: string) => ConfigDocument | string;

export class AgentFiles {
  readonly #lookUp: LookUp;
  readonly #problems: ProblemList;
  readonly #paths = new Set<string>();

  constructor(lookUp: LookUp, problems: ProblemList) {
    this.#lookUp = lookUp;
    this.#problems = problems;
  }

  /** The absolute paths of all that were asked for. */
  get paths(): readonly string[] {
    return [...this.#paths];
  }

  /** The agent with what its file says; `undefined` when that cannot be known, which is a problem already. */
  expand(node: Located, path: Path, trail: readonly string[]): Located | undefined {
    if (node.kind !== "map") return node;
    const agent = withRuntimeMap(node);
    const named = agent.entries.get("path")?.value;
    if (named === undefined) return agent;
    const own = mapWith(agent, [["path", undefined]]);
    const base = this.#base(named, path, trail);
    if (base === undefined || base.kind !== "map") return base;
    return mergeMaps(base, own);
  }

  #base(named: Located, path: Path, trail: readonly string[]): Located | undefined {
    const { place } = named;
    const at = { path: [...path, "path"], place };
    if (named.kind !== "scalar" || typeof named.value !== "string" || named.value === "") {
      const expected = "the path of a file that describes an agent";
      const given = shown(named.kind === "scalar" ? named.value : {});
      const message = `Invalid path ${given}: expected ${expected}`;
      if (named.kind !== "scalar" || named.isBroken !== true)
        this.#problems.add({ code: "INVALID_VALUE", message, ...at, given, expected });
      return undefined;
    }
    if (named.isBroken === true) return undefined;
    const absolute = resolve(place.source.directory ?? "", named.value);
    const given = quote(named.written ?? named.value);
    if (trail.includes(absolute)) {
      const message = `The file ${given} leads back to itself: remove this path`;
      this.#problems.add({ code: "FILE_CYCLE", message, ...at, given });
      return undefined;
    }
    this.#paths.add(absolute);
    const document = this.#lookUp(absolute);
    if (typeof document === "string") {
      this.#problems.add({ code: "UNREADABLE_FILE", message: `The file ${given} ${document}`, ...at, given });
      return undefined;
    }
    return this.#root(document, path, [...trail, absolute]);
  }

  #root(document: ConfigDocument, path: Path, trail: readonly string[]): Located | undefined {
    for (const fault of document.faults) this.#problems.add({ ...fault, path: [...path, ...fault.path] });
    return document.root === undefined ? undefined : this.expand(document.root, path, trail);
  }
}

/** Which files the agents of a document name, to be read before it is put together. */
export function filesNamedBy({ root }: ConfigDocument): readonly string[] {
  if (root?.kind !== "map") return [];
  const agents = root.entries.get("agents")?.value;
  const holders = agents?.kind === "list" ? [root, ...agents.items] : [root];
  return holders.flatMap((holder) => pathOf(holder) ?? []);
}

function pathOf(holder: Located | LocatedMap): string | undefined {
  const named = holder.kind === "map" ? holder.entries.get("path")?.value : undefined;
  if (named?.kind !== "scalar" || typeof named.value !== "string" || named.isBroken === true)
    return undefined;
  return named.value === "" ? undefined : resolve(named.place.source.directory ?? "", named.value);
}
