/** Collects what is wrong while a configuration is read, and makes problems of it: placed, worded, in order. */
import type { ConfigProblem, ConfigProblemCode } from "../scheduler/definition/errors.js";
import type { Path } from "./yaml/located-value.js";
import { pathInWords } from "../scheduler/definition/problem-path.js";
import type { Place, SourceText } from "./yaml/source-text.js";

/** A problem before its place is put into words. */
export interface Fault {
  readonly code: ConfigProblemCode;
  readonly message: string;
  readonly path: Path;
  readonly place?: Place | undefined;
  readonly given?: string | undefined;
  readonly expected?: string | undefined;
  readonly suggestion?: string | undefined;
  /** The text may hold a password, and is not shown. */
  readonly isSecret?: boolean | undefined;
}

/** Each costs most of a millisecond to explain. */
const ENOUGH = 2_000;

export class ProblemList {
  readonly #faults: Fault[] = [];
  /** With what was said before. */
  #count = 0;
  /** What a default or an alias is wrong with is said once, however many agents have it. */
  readonly #said = new Map<SourceText, Set<string>>();

  /** Whether nobody would read what comes on top. */
  get isFull(): boolean {
    return this.#count >= ENOUGH;
  }

  get isEmpty(): boolean {
    return this.#faults.length === 0;
  }

  add(...faults: readonly Fault[]): void {
    this.#count += faults.length;
    for (const fault of faults) if (!this.#wasSaid(fault)) this.#faults.push(fault);
  }

  /** In the order of files, as they were met, and of places in them. */
  problems(nameOfAgent: (index: number) => string | undefined): readonly ConfigProblem[] {
    const files = [...this.#said.keys()];
    const order = ({ place }: Fault): readonly [number, number] =>
      place === undefined ? [-1, 0] : [files.indexOf(place.source), place.start];
    const ranked = this.#faults.map((fault) => ({ fault, rank: order(fault) }));
    const sorted = ranked.toSorted((a, b) => a.rank[0] - b.rank[0] || a.rank[1] - b.rank[1]);
    return sorted.map(({ fault }) => problemOf(fault, nameOfAgent));
  }

  #wasSaid({ code, message, place }: Fault): boolean {
    if (place === undefined) return false;
    const said = this.#said.get(place.source) ?? new Set<string>();
    this.#said.set(place.source, said);
    const key = `${place.start} ${code} ${message}`;
    if (said.has(key)) return true;
    said.add(key);
    return false;
  }
}

function problemOf(fault: Fault, nameOfAgent: (index: number) => string | undefined): ConfigProblem {
  const { code, message, path, place, given, expected, suggestion, isSecret = false } = fault;
  const position = place?.source.positionAt(place.start);
  return {
    code,
    message,
    where: pathInWords(path, nameOfAgent),
    path,
    given,
    expected,
    suggestion,
    file: place?.source.file,
    line: position?.line,
    column: position?.column,
    frame: isSecret || place?.source.text === "" ? undefined : place?.source.frameAt(place),
  };
}
