/**
 * Any text as a column can hold it: PostgreSQL has no zero bytes in text, but names may. Line breaks are written as two
 * characters as well, so that many texts can be sent as the lines of one.
 */

const ESCAPED = /[\\\0\n]/g;
const ESCAPE = /\\([\\0n])/g;
const ESCAPES: Readonly<Record<string, string>> = { "\\": "\\\\", "\0": "\\0", "\n": "\\n" };
const CHARACTERS: Readonly<Record<string, string>> = { "\\": "\\", "0": "\0", n: "\n" };
/** No text becomes this, which stands for none. */
const NULL = "\\";

export function columnText(text: string): string {
  return text.replaceAll(ESCAPED, (character) => ESCAPES[character] ?? character);
}

export function textOfColumn(column: string): string {
  return column.includes("\\")
    ? column.replaceAll(ESCAPE, (escape, letter: string) => CHARACTERS[letter] ?? escape)
    : column;
}

/** Texts as one, which takes a fraction of the time that an array would. In a statement, `lines` takes them apart again. */
export function linesOf(texts: readonly (string | null)[]): string {
  return (texts.includes(null) ? texts.map((text) => text ?? NULL) : texts).join("\n");
}

export function lines(parameter: string): string {
  return `string_to_array(${parameter}, E'\\n', E'\\\\')`;
}

/** What needs no quotes in an array: numbers, booleans, words. */
export type Plain = number | boolean | string | null | undefined;

/** Values as an array is written, for parameters of their type. */
export function plainArray(values: readonly Plain[]): string {
  const hasNone = values.includes(null) || values.includes(undefined);
  return `{${(hasNone ? values.map((value) => value ?? "null") : values).join(",")}}`;
}

/** The values of many rows, which are mostly the same: as long as they are, one is kept for all. */
export class SharedColumn {
  #first: Plain = undefined;
  #count = 0;
  /** Made for the first that is another. */
  #values: Plain[] | undefined = undefined;

  add(value: Plain): void {
    if (this.#count++ === 0) this.#first = value;
    else if (this.#values !== undefined) this.#values.push(value);
    else if (value !== this.#first) {
      this.#values = this.#repeated(this.#count - 1);
      this.#values.push(value);
    }
  }

  /** As an array is written: one value where all are the same. In a statement, `shared` tells which each has. */
  get array(): string {
    return plainArray(this.#values ?? [this.#first]);
  }

  /** As an array is written: one without values where all are `value`, which is the same as if nothing were said. */
  arrayBut(value: Plain): string {
    if (this.#values !== undefined) return plainArray(this.#values);
    return this.#first === value ? "{}" : plainArray(this.#repeated(this.#count));
  }

  #repeated(length: number): Plain[] {
    return Array.from({ length }, () => this.#first);
  }
}

export function shared(parameter: string, column: string): string {
  return `case when cardinality(${parameter}) = 1 then ${parameter}[1] else ${column} end`;
}

/** The numbers in an array, as the database writes it; none where there is none. Each as a text first would cost more. */
export function numbersIn(array: unknown): readonly (number | null)[] {
  if (typeof array !== "string") return [];
  const numbers: (number | null)[] = JSON.parse(`[${array.slice(1, -1).replaceAll("NULL", "null")}]`);
  return numbers;
}

/** What stands between documents that are told as one text. No document has it: JSON writes it in another way. */
export const DOCUMENT_END = "\u001e";
