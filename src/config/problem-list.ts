/** Collects the faults of a configuration while it is read, each once, and makes problems of them in the order of the files. */
import type { ConfigProblem } from "../scheduler/definition/errors.js";
import { type AgentNames, MOST_FAULTS, problemOf } from "../scheduler/definition/fault.js";
import type { LocatedFault } from "./yaml/located-value.js";
import type { SourceText } from "./yaml/source-text.js";

export class ProblemList {
  readonly #faults: LocatedFault[] = [];
  /** Counts repeated faults too. */
  #count = 0;
  /** By source. A fault in a default or an alias is reported once, not once for every agent that has it. */
  readonly #reported = new Map<SourceText, Set<string>>();

  get isFull(): boolean {
    return this.#count >= MOST_FAULTS;
  }

  get isEmpty(): boolean {
    return this.#faults.length === 0;
  }

  add(...faults: readonly LocatedFault[]): void {
    this.#count += faults.length;
    for (const fault of faults) if (!this.#isRepeated(fault)) this.#faults.push(fault);
  }

  /** In the order in which the files were read, and of the positions in each. */
  problems(nameOfAgent: AgentNames): readonly ConfigProblem[] {
    const sources = [...this.#reported.keys()];
    const order = ({ range }: LocatedFault): readonly [number, number] =>
      range === undefined ? [-1, 0] : [sources.indexOf(range.source), range.start];
    const ranked = this.#faults.map((fault) => ({ fault, rank: order(fault) }));
    const sorted = ranked.toSorted((a, b) => a.rank[0] - b.rank[0] || a.rank[1] - b.rank[1]);
    return sorted.map(({ fault }) => locatedProblem(fault, nameOfAgent));
  }

  #isRepeated({ code, message, range }: LocatedFault): boolean {
    if (range === undefined) return false;
    const reported = this.#reported.get(range.source) ?? new Set<string>();
    this.#reported.set(range.source, reported);
    const key = `${range.start} ${code} ${message}`;
    if (reported.has(key)) return true;
    reported.add(key);
    return false;
  }
}

function locatedProblem(fault: LocatedFault, nameOfAgent: AgentNames): ConfigProblem {
  const { range, isSecret = false } = fault;
  if (range === undefined) return problemOf(fault, nameOfAgent);
  const { source } = range;
  const frame = isSecret || source.text === "" ? undefined : source.frameAt(range);
  return problemOf(fault, nameOfAgent, { file: source.file, ...source.positionAt(range.start), frame });
}
