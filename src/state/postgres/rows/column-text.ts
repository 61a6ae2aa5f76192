/**
 * How values are written to parameters and read from columns.
 * Texts are escaped: PostgreSQL allows no zero bytes in text, but names may have them. Line breaks are escaped too,
 * so that many texts can be sent as the lines of one parameter.
 */

const ESCAPED = /[\\\0\n]/g;
const NEEDS_ESCAPES = /[\\\0\n]/;
const ESCAPE = /\\([\\0n])/g;
const ESCAPES: Readonly<Record<string, string>> = { "\\": "\\\\", "\0": "\\0", "\n": "\\n" };
const CHARACTERS: Readonly<Record<string, string>> = { "\\": "\\", "0": "\0", n: "\n" };
/** Stands for null: no escaped text looks like this. */
const NULL = "\\";

export function columnText(text: string): string {
  // Called twice for each record: hardly any name needs escapes.
  return NEEDS_ESCAPES.test(text)
    ? text.replaceAll(ESCAPED, (character) => ESCAPES[character] ?? character)
    : text;
}

export function textOfColumn(column: string): string {
  return column.includes("\\")
    ? column.replaceAll(ESCAPE, (escape, letter: string) => CHARACTERS[letter] ?? escape)
    : column;
}

/** Joins texts into one parameter, much faster than an array. In a statement, `lines` splits them. */
export function linesOf(texts: readonly (string | null)[]): string {
  return (texts.includes(null) ? texts.map((text) => text ?? NULL) : texts).join("\n");
}

export function lines(parameter: string): string {
  return `string_to_array(${parameter}, E'\\n', E'\\\\')`;
}

/** A value that needs no quotes in an array: a number, a boolean or a word. */
export type Plain = number | boolean | string | null | undefined;

/** The text of an array. */
export function plainArray(values: readonly Plain[]): string {
  const hasNone = values.includes(null) || values.includes(undefined);
  return `{${(hasNone ? values.map((value) => value ?? "null") : values).join(",")}}`;
}

/** A column of many rows: as long as all values are the same, only one is kept. */
export class SharedColumn {
  #first: Plain = undefined;
  #count = 0;
  /** Created when a value differs from the first. */
  #values: Plain[] | undefined = undefined;

  add(value: Plain): void {
    if (this.#count++ === 0) this.#first = value;
    else if (this.#values !== undefined) this.#values.push(value);
    else if (value !== this.#first) {
      this.#values = this.#repeated(this.#count - 1);
      this.#values.push(value);
    }
  }

  /** The text of an array, with one value when all are the same. In a statement, `shared` selects the value of a row. */
  get array(): string {
    return plainArray(this.#values ?? [this.#first]);
  }

  /** The text of an array, empty when all values are `value`, which is the default. */
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

/** The numbers in the text of an array, empty for null. One call of JSON.parse is faster than a loop over texts. */
export function numbersIn(array: unknown): readonly (number | null)[] {
  if (typeof array !== "string") return [];
  const numbers: (number | null)[] = JSON.parse(`[${array.slice(1, -1).replaceAll("NULL", "null")}]`);
  return numbers;
}

/** Separates documents that are sent as one text. JSON escapes this character, so that no document contains it. */
export const DOCUMENT_END = "\u001e";

/**
 * The parsers that every statement brings along, in the form of `pg`, so that the settings of the application have no effect.
 * Statements select times as numbers and bytes as hex text, because sessions may format them in many ways.
 */
export interface ColumnTypes {
  getTypeParser(type: number): (text: string) => unknown;
}

const ELEMENT = /"((?:[^"\\]|\\.)*)"|[^{},"]+/gs;

/** By the OID of the type. All other types stay text, also integers that JavaScript could not represent. */
const PARSERS: ReadonlyMap<number, (text: string) => unknown> = new Map<number, (text: string) => unknown>([
  [16, (boolean) => boolean === "t"],
  [23, Number],
  [114, (json) => JSON.parse(json) as unknown],
  [701, Number],
  [1009, textsOf],
]);

const asText = (text: string): string => text;

export const AS_TEXT: ColumnTypes = { getTypeParser: () => asText };

export const AS_VALUES: ColumnTypes = { getTypeParser: (type) => PARSERS.get(type) ?? asText };

/** The elements in the text of an array: {a,"b c"}. */
function textsOf(array: string): string[] {
  return Array.from(array.matchAll(ELEMENT), ([bare, quoted]) =>
    quoted === undefined ? bare : quoted.replaceAll(/\\(.)/gs, "$1"),
  );
}
