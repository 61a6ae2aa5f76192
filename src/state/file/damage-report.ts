/** What is wrong with a file, in sentences that say where. */
import { quote } from "../../errors.js";
import { PLAIN_TEXT } from "./yaml/state-document.js";
import type { Damage } from "./yaml/yaml-reader.js";

/** A sentence for each damage, in the order of the text; `fileLine` maps a line of the text to a line of the file. */
export function sentences(
  damages: readonly Damage[],
  text: string,
  fileLine: (line: number) => number = (line) => line,
): string[] {
  const lines = new LineCount(text);
  const ordered = damages.toSorted((a, b) => a.offset - b.offset);
  return ordered.map(({ where, offset, problem }) => {
    const line = fileLine(lines.at(offset));
    return where.length === 0 ? `line ${line}: ${problem}` : `${shownPath(where)} (line ${line}): ${problem}`;
  });
}

function shownPath(where: readonly string[]): string {
  return where.map((key) => (PLAIN_TEXT.test(key) ? key : quote(key))).join(".");
}

/** The numbers of lines, from 1, for characters or bytes one after the other; the text is looked through once. */
export class LineCount {
  readonly #text: string | Buffer;
  #line = 1;
  #newline: number;

  constructor(text: string | Buffer) {
    this.#text = text;
    this.#newline = text.indexOf("\n");
  }

  at(offset: number): number {
    for (; this.#newline >= 0 && this.#newline < offset; this.#line++)
      this.#newline = this.#text.indexOf("\n", this.#newline + 1);
    return this.#line;
  }
}
