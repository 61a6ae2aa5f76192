/**
 * Borderless tables with aligned columns. To fit the terminal, a table first uses the short forms of cells, then drops
 * columns, then cuts texts. Pure.
 */
import type { Paint, Style } from "./style.js";
import { cutToWidth, oneLine, textWidth } from "./text-width.js";

export interface Column {
  readonly title: string;
  readonly align?: "left" | "right" | undefined;
  /** The least width this column may be cut to. @default it is never cut */
  readonly cutTo?: number | undefined;
  /** Keeps the columns of a redrawn table from moving when texts change. @default as wide as its widest cell */
  readonly minWidth?: number | undefined;
  /** The order in which columns are dropped to fit, lowest number first. @default it is never dropped */
  readonly dropAs?: number | undefined;
}

/** A text, with a style (which adds no width) or a short form for narrow terminals. */
export type Cell = string | StyledCell;

interface StyledCell {
  readonly text: string;
  readonly style?: Style | undefined;
  readonly short?: string | undefined;
  /** Whether it is never cut, as a name or an id: the column stays that wide, or is dropped. @default false */
  readonly isWhole?: boolean | undefined;
}

export interface TableOptions {
  /** The terminal's width; `Infinity` for a file or a pipe. */
  readonly width: number;
  readonly paint: Paint;
}

const GAP = "  ";

/** The lines of a table, titles first, without trailing spaces. */
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
  /** The width of its widest cell. */
  readonly width: number;
  /** The width to which it may be cut. */
  readonly least: number;
}

function stripsOf(
  columns: readonly Column[],
  rows: readonly (readonly Cell[])[],
  isShort: boolean,
): readonly Strip[] {
  return columns.map((column, index) => {
    const cells = rows.map((row) => cleaned(row[index] ?? "", isShort));
    const width = cells.reduce((widest, { text }) => Math.max(widest, textWidth(text)), column.minWidth ?? 0);
    const whole = cells.map(({ text, isWhole }) => (isWhole === true ? textWidth(text) : 0));
    const least = Math.min(width, Math.max(column.cutTo ?? Infinity, ...whole));
    return { column, cells, width, least };
  });
}

function cleaned(cell: Cell, isShort: boolean): StyledCell {
  if (typeof cell === "string") return { text: oneLine(cell) };
  return { ...cell, text: oneLine(isShort ? (cell.short ?? cell.text) : cell.text) };
}

function leastWidth(strips: readonly Strip[]): number {
  return totalWidth(strips.map(({ least }) => least));
}

function totalWidth(widths: readonly number[]): number {
  return widths.reduce((sum, one) => sum + one, GAP.length * (widths.length - 1));
}

function withoutFirst(strips: readonly Strip[]): readonly Strip[] {
  const lowest = Math.min(...strips.map(({ column }) => column.dropAs ?? Infinity));
  return strips.filter(({ column }) => column.dropAs !== lowest);
}

/** Narrows the widest column that may be cut by one character at a time, until the line fits or no column can be cut. */
function fit(strips: readonly Strip[], width: number): readonly number[] {
  const widths = strips.map((strip) => strip.width);
  for (let excess = totalWidth(widths) - width; excess > 0; excess--) {
    let widest = -1;
    for (const [index, { least }] of strips.entries()) {
      const own = widths[index] ?? 0;
      if (own > least && own > (widths[widest] ?? -1)) widest = index;
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
  // Spaces are held back until text follows, so that no line ends in spaces.
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
