/** Any text as a column can hold it: PostgreSQL has no zero bytes in text, but names and agents may. */

const ESCAPED = /[\\\0]/g;
const ESCAPE = /\\([\\0])/g;

export function columnText(text: string): string {
  return text.includes("\\") || text.includes("\0")
    ? text.replaceAll(ESCAPED, (character) => (character === "\0" ? "\\0" : "\\\\"))
    : text;
}

export function textOfColumn(column: string): string {
  return column.includes("\\")
    ? column.replaceAll(ESCAPE, (_, escaped) => (escaped === "0" ? "\0" : "\\"))
    : column;
}
