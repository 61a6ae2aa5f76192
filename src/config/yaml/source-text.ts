/** A text that was read, with the line, column and frame of any position in it. Pure. */

/** A part of a text, by offsets; `end` is exclusive. */
export interface SourceRange {
  readonly source: SourceText;
  readonly start: number;
  readonly end: number;
}

export interface Position {
  /** Counts from 1. */
  readonly line: number;
  /** Counts from 1. */
  readonly column: number;
}

export interface SourceTextOptions {
  /** The path that messages show. */
  readonly file?: string | undefined;
  /** The absolute directory that relative paths in the text start from. */
  readonly directory?: string | undefined;
}

/** A frame shows only a part of a longer line. */
const WIDEST = 100;
/** Characters that must not reach a terminal: control characters, and marks that change the direction of text. */
// eslint-disable-next-line no-control-regex
const UNSHOWABLE = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

export class SourceText {
  readonly text: string;
  readonly file: string | undefined;
  readonly directory: string | undefined;
  /** The offset of each line; computed when first needed. */
  #starts: readonly number[] | undefined;

  constructor(text: string, { file, directory }: SourceTextOptions = {}) {
    this.text = text;
    this.file = file;
    this.directory = directory;
  }

  positionAt(offset: number): Position {
    const starts = this.#lineStarts();
    let low = 0;
    let high = starts.length - 1;
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if ((starts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return { line: low + 1, column: offset - (starts[low] ?? 0) + 1 };
  }

  /**
   * The first line of a range, with carets under it. Without the lines around it: they do not belong to the problem, and
   * may hold a password.
   */
  frameAt({ start, end }: SourceRange): string {
    const { line, column } = this.positionAt(start);
    const text = this.#line(line);
    const first = column - 1;
    const last = Math.max(first + 1, Math.min(first + end - start, text.trimEnd().length));
    const from = text.length <= WIDEST || first < WIDEST / 2 ? 0 : first - Math.floor(WIDEST / 4);
    const shown = cut(text, from);
    const pad = widthOf(text.slice(from, first)) + (from > 0 ? 1 : 0);
    const carets = "^".repeat(Math.max(1, widthOf(text.slice(first, Math.min(last, from + WIDEST)))));
    const margin = " ".repeat(String(line).length);
    return `  ${line} | ${shown.trimEnd()}\n  ${margin} | ${" ".repeat(pad)}${carets}`;
  }

  #line(line: number): string {
    const starts = this.#lineStarts();
    const end = (starts[line] ?? this.text.length + 1) - 1;
    return this.text.slice(starts[line - 1] ?? 0, end);
  }

  #lineStarts(): readonly number[] {
    if (this.#starts === undefined) {
      const starts = [0];
      for (let at = this.text.indexOf("\n"); at >= 0; at = this.text.indexOf("\n", at + 1))
        starts.push(at + 1);
      this.#starts = starts;
    }
    return this.#starts;
  }
}

function cut(line: string, from: number): string {
  const end = from + WIDEST;
  const part = line.slice(from, end).replaceAll(UNSHOWABLE, " ");
  return `${from > 0 && part !== "" ? "…" : ""}${part}${line.length > end ? "…" : ""}`;
}

/** The width on a screen, roughly: a surrogate pair counts as one column. */
function widthOf(text: string): number {
  return text.replaceAll(/[\ud800-\udbff][\udc00-\udfff]/g, " ").length;
}
