/**
 * The parsers that every statement brings along, so that the settings of the application for `pg` have no effect. Statements
 * select times as numbers and bytes as hex text, because sessions may format them in many ways.
 */

/** The parsers of a statement in the form of `pg`. */
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
