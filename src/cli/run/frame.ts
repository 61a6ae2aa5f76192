/**
 * The control sequences that turn one frame on a terminal into the next: only changed lines, in one synchronized write,
 * with scrolling lines printed above the frame. Pure.
 */
import { stripVTControlCharacters } from "node:util";
import { textWidth } from "../format/text-width.js";

export interface Frame {
  /** Each narrower than the terminal. The cursor rests at the end of the last line. */
  readonly lines: readonly string[];
  /** The terminal's width when the frame was drawn. */
  readonly columns: number;
}

const CSI = "\u001b[";
export const HIDE_CURSOR: string = `${CSI}?25l`;
export const SHOW_CURSOR: string = `${CSI}?25h`;
const BEGIN_AT_ONCE = `${CSI}?2026h`;
const END_AT_ONCE = `${CSI}?2026l`;
const ERASE_LINE_END = `${CSI}K`;
const ERASE_BELOW = `${CSI}J`;

/** Empty when the frames are equal. `scrolled`: lines of any width to print above the frame. */
export function frameText(before: Frame, after: Frame, scrolled: readonly string[] = []): string {
  const isSame = before.columns === after.columns;
  if (scrolled.length > 0 || !isSame)
    return atOnce(`${toTop(before, after.columns)}${ERASE_BELOW}${anew(after, scrolled)}`);
  if (areSame(before.lines, after.lines)) return "";
  const changed = after.lines.map((line, index) =>
    line === before.lines[index] ? "" : `${line}${ERASE_LINE_END}`,
  );
  const rest = after.lines.length < before.lines.length ? ERASE_BELOW : "";
  // Rewrites an unchanged last line, so that the cursor ends up behind it.
  const end = changed.at(-1) === "" ? (after.lines.at(-1) ?? "") : "";
  return atOnce(`${toTop(before, after.columns)}${changed.join("\r\n")}${end}${rest}`);
}

function anew({ lines }: Frame, scrolled: readonly string[]): string {
  const end = scrolled.length > 0 && lines.length === 0 ? "\r\n" : "";
  return `${[...scrolled, ...lines].join("\r\n")}${end}`;
}

/** Moves from the end of a frame to its beginning, counting the lines that a narrower terminal has wrapped. */
function toTop({ lines }: Frame, columns: number): string {
  const rows = lines.reduce((sum, line) => sum + rowsOf(line, columns), 0);
  return rows > 1 ? `\r${CSI}${rows - 1}A` : "\r";
}

function rowsOf(line: string, columns: number): number {
  return Math.max(1, Math.ceil(textWidth(stripVTControlCharacters(line)) / columns));
}

function areSame(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((line, index) => line === other[index]);
}

function atOnce(text: string): string {
  return `${BEGIN_AT_ONCE}${text}${END_AT_ONCE}`;
}
