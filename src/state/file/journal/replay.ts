/**
 * Makes the state of the parts from the segments of a journal: the newest snapshot that can be read, and every decision
 * after it. Numbers tell when a decision is missing, or there twice.
 */
import { invalidState } from "../../errors.js";
import type { FoundLine, JournalLine } from "./journal-line.js";
import { type JournalParts, positionOf } from "./journal-part.js";
import type { SegmentFiles } from "./segment-files.js";

/** What is wrong in the file of a segment: "line 7 cannot be read, and 1 decision is lost". */
export interface JournalDamage {
  readonly segment: number;
  readonly problem: string;
}

export interface ReplayOptions {
  /** Whether records of a part that is not among the parts are left out. They are a newer version's. */
  readonly isTolerant: boolean;
  /** Called for each decision that was applied. */
  readonly onDecision?: ((line: JournalLine, position: number) => void) | undefined;
}

export class Replay {
  readonly damages: JournalDamage[] = [];
  readonly #files: SegmentFiles;
  readonly #parts: JournalParts;
  readonly #options: ReplayOptions;
  /** Of the last decision in the state; `undefined` while no line has told. */
  #number: number | undefined;
  /** The segment that is read, how many of its lines and bytes were taken in, and where its last line begins. */
  #segment = 0;
  #lineCount = 0;
  #end = 0;
  #lastStart = 0;
  #snapshotEnd = 0;
  /** The first line since the last decision that could not be read. */
  #unreadLine: number | undefined;

  constructor(files: SegmentFiles, parts: JournalParts, options: ReplayOptions) {
    this.#files = files;
    this.#parts = parts;
    this.#options = options;
  }

  get number(): number {
    return this.#number ?? 0;
  }

  get segment(): number {
    return this.#segment;
  }

  /** How many bytes of the segment are whole lines. */
  get end(): number {
    return this.#end;
  }

  /** How many bytes its snapshot has. */
  get snapshotEnd(): number {
    return this.#snapshotEnd;
  }

  get lastStart(): number {
    return this.#lastStart;
  }

  /** Replaces the state by what the files say; with no segment, by nothing. */
  async load(): Promise<void> {
    const { segments } = await this.#files.list();
    const base = await this.#loadSnapshot(segments);
    for (const segment of segments.filter((number) => number >= base)) await this.enter(segment);
  }

  /** Goes on with the lines of a next segment, whose snapshot says what is known already. */
  async enter(segment: number): Promise<void> {
    this.#segment = segment;
    this.#end = 0;
    this.#lastStart = 0;
    this.#lineCount = 0;
    this.#snapshotEnd = 0;
    await this.follow((await this.#files.size(segment)) ?? 0);
  }

  /** Takes in what the segment has before `size` and was not read yet; `false` when a line was damaged. */
  async follow(size: number): Promise<boolean> {
    const damages = this.damages.length;
    for await (const lines of this.#files.lines(this.#segment, this.#end, size))
      for (const found of lines) {
        // It is the last.
        if (found.state === "torn") break;
        this.#take(found);
        if (found.start === 0) this.#snapshotEnd = found.end;
        this.#lastStart = found.start;
        this.#end = found.end;
      }
    if (this.#unreadLine !== undefined)
      this.#report(`line ${this.#unreadLine} cannot be read, and what it says is lost`);
    this.#unreadLine = undefined;
    return damages === this.damages.length;
  }

  /** The segment with the newest snapshot that can be read, or else the oldest. */
  async #loadSnapshot(segments: readonly number[]): Promise<number> {
    for (const segment of segments.toReversed()) {
      const line = await this.#files.readLine(positionOf(segment, 0));
      if (line?.snapshot === undefined) {
        this.damages.push({
          segment,
          problem: "the snapshot in line 1 cannot be read; an earlier one is used",
        });
        continue;
      }
      this.#requireKnown(segment, Object.keys(line.snapshot));
      for (const [name, part] of Object.entries(this.#parts)) part.load(line.snapshot[name]);
      this.#number = line.number;
      return segment;
    }
    for (const part of Object.values(this.#parts)) part.load(undefined);
    return segments[0] ?? 0;
  }

  #take({ start, state, line }: FoundLine): void {
    this.#lineCount++;
    if (line === undefined) {
      // A damaged snapshot was reported when it was looked for.
      if (start > 0) this.#unreadLine ??= this.#lineCount;
      return;
    }
    const known = this.#number;
    const isSnapshot = line.snapshot !== undefined;
    const next = known === undefined || isSnapshot ? line.number : known + 1;
    const lost = isSnapshot ? line.number - (known ?? line.number) : line.number - next;
    if (this.#unreadLine !== undefined)
      this.#report(`line ${this.#unreadLine} cannot be read, and ${decisions(lost)} lost`);
    else if (lost > 0) this.#report(`before line ${this.#lineCount}, ${decisions(lost)} missing`);
    if (state === "damaged")
      this.#report(`the end of line ${this.#lineCount} is damaged, and nothing is lost`);
    this.#unreadLine = undefined;
    if (lost < 0) this.#report(`line ${this.#lineCount} repeats decision ${line.number} and is left out`);
    else if (!isSnapshot) this.#apply(line, positionOf(this.#segment, start));
    if (lost >= 0) this.#number = line.number;
  }

  #apply(line: JournalLine, position: number): void {
    this.#requireKnown(
      this.#segment,
      line.records.map(({ part }) => part),
    );
    for (const { part, data } of line.records) this.#parts[part]?.apply(data, position);
    this.#options.onDecision?.(line, position);
  }

  #requireKnown(segment: number, names: readonly string[]): void {
    if (this.#options.isTolerant) return;
    const unknown = names.find((name) => this.#parts[name] === undefined);
    if (unknown === undefined) return;
    const path = this.#files.path(segment);
    throw invalidState(
      `${path} has records of the part "${unknown}", which this version of Rota does not know. Use the version that wrote it, or a newer one.`,
    );
  }

  #report(problem: string): void {
    this.damages.push({ segment: this.#segment, problem });
  }
}

function decisions(count: number): string {
  if (count <= 0) return "no decision is";
  return count === 1 ? "1 decision is" : `${count} decisions are`;
}
