/**
 * Borderless tables: columns aligned by their widest cell. To fit the terminal, texts are shown in their short form, then
 * columns left out, and what may be cut is cut. Pure.
 */
import type { Paint, Style } from "./style.js";
import { cutToWidth, oneLine, textWidth } from "./text-width.js";

export interface Column {
  readonly title: string;
  readonly align?: "left" | "right" | undefined;
  /** The least width this column may be cut to. @default it is never cut */
  readonly cutTo?: number | undefined;
  /** Keeps what is drawn over and over from moving when its widest text changes. @default as wide as its widest cell */
  readonly minWidth?: number | undefined;
  /** Where it would not fit otherwise it is left out, the lowest number first. @default it never is */
  readonly dropAs?: number | undefined;
}

/** A text, or one with a style, which does not count as width, or with a form for where there is little room. */
export type Cell = string | StyledCell;

interface StyledCell {
  readonly text: string;
  readonly style?: Style | undefined;
  readonly short?: string | undefined;
}

export interface TableOptions {
  /** The columns of the terminal; `Infinity` where there is none. */
  readonly width: number;
  readonly paint: Paint;
}

const GAP = "  ";

/** The lines of a table, its titles first. No line ends in spaces. */
export function tableLines(
  columns: readonly Column[],
  rows: readonly (readonly Cell[])[],
  { width, paint }: TableOptions,
): string[] {
  const titles = columns.map(({ title }): Cell => ({ text: title, style: "bold" }));
  const cells = [titles, ...rows];
  let strips = stripsOf(columns, cells, false);
  if (leastWidth(strips) > width) strips = stripsOf(columns, cells, true);
  while (leastWidth(strips) > width && strips.some(({ column }) => column.dropAs !== undefined))
    strips = withoutFirst(strips);
  const widths = fit(strips, width);
  return cells.map((_, row) => line(strips, { row, widths, paint }));
}

/** A column with its cells. */
interface Strip {
  readonly column: Column;
  readonly cells: readonly StyledCell[];
  /** Of its widest cell. */
  readonly width: number;
}

function stripsOf(
  columns: readonly Column[],
  rows: readonly (readonly Cell[])[],
  isShort: boolean,
): readonly Strip[] {
  return columns.map((column, index) => {
    const cells = rows.map((row) => cleaned(row[index] ?? "", isShort));
    const width = cells.reduce((widest, { text }) => Math.max(widest, textWidth(text)), column.minWidth ?? 0);
    return { column, cells, width };
  });
}

function cleaned(cell: Cell, isShort: boolean): StyledCell {
  if (typeof cell === "string") return { text: oneLine(cell) };
  return { text: oneLine(isShort ? (cell.short ?? cell.text) : cell.text), style: cell.style };
}

function leastWidth(strips: readonly Strip[]): number {
  return totalWidth(strips.map(({ column, width }) => Math.min(width, column.cutTo ?? Infinity)));
}

function totalWidth(widths: readonly number[]): number {
  return widths.reduce((sum, one) => sum + one, GAP.length * (widths.length - 1));
}

function withoutFirst(strips: readonly Strip[]): readonly Strip[] {
  const lowest = Math.min(...strips.map(({ column }) => column.dropAs ?? Infinity));
  return strips.filter(({ column }) => column.dropAs !== lowest);
}

/** Takes from the widest of the columns that may be cut, one place at a time, until the line fits or nothing is left. */
function fit(strips: readonly Strip[], width: number): readonly number[] {
  const widths = strips.map((strip) => strip.width);
  for (let excess = totalWidth(widths) - width; excess > 0; excess--) {
    let widest = -1;
    for (const [index, { column }] of strips.entries()) {
      const own = widths[index] ?? 0;
      if (own > (column.cutTo ?? Infinity) && own > (widths[widest] ?? -1)) widest = index;
    }
    if (widest === -1) break;
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
  return widths;
}

interface LineShape {
  readonly row: number;
  readonly widths: readonly number[];
  readonly paint: Paint;
}

function line(strips: readonly Strip[], { row, widths, paint }: LineShape): string {
  let drawn = "";
  // Spaces wait until something follows them.
  let waiting = "";
  for (const [index, { column, cells }] of strips.entries()) {
    const { text = "", style } = cells[row] ?? {};
    const width = widths[index] ?? 0;
    const cut = cutToWidth(text, width);
    const room = " ".repeat(Math.max(0, width - textWidth(cut)));
    if (column.align === "right") waiting += room;
    if (cut !== "") {
      drawn += waiting + (style === undefined ? cut : paint(style, cut));
      waiting = "";
    }
    waiting += column.align === "right" ? GAP : room + GAP;
  }
  return drawn;
}
