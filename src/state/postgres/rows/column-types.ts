/**
 * How values are read, whatever the application around has told `pg` to make of them: every statement brings these along,
 * and no parser of its own is ever asked. Times are asked for as numbers, and bytes as text: sessions write them in many ways.
 */

/** As `pg` takes it. */
export interface ColumnTypes {
  getTypeParser(type: number): (text: string) => unknown;
}

const ELEMENT = /"((?:[^"\\]|\\.)*)"|[^{},"]+/gs;

/** PostgreSQL's number of each type. Those that are not here stay text, also numbers that are too large for ours. */
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

/** The elements of an array as it is written: {a,"b c"}. */
function textsOf(array: string): string[] {
  return Array.from(array.matchAll(ELEMENT), ([bare, quoted]) =>
    quoted === undefined ? bare : quoted.replaceAll(/\\(.)/gs, "$1"),
  );
}
