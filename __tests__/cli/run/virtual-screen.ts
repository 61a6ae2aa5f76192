/**
 * A terminal's screen: what a person sees of the bytes that a program has written, and what has scrolled away.
 * It supports only the sequences that Rota uses, and throws at any other.
 */
import { textWidth } from "../../../src/cli/format/text-width.js";

interface Row {
  readonly cells: string[];
  /** Whether it goes on in the next row. */
  isWrapped: boolean;
}

const ESCAPE = "\u001b";
/** A sequence, a control character, or text to show. */
const PIECE = new RegExp(`${ESCAPE}\\[([?0-9;]*)([A-Za-z])|\r|\n|([^${ESCAPE}\r\n]+)`, "g");
const UNFINISHED = new RegExp(`${ESCAPE}(?:\\[[?0-9;]*)?$`);

const newRow = (): Row => ({ cells: [], isWrapped: false });

export class VirtualScreen {
  columns: number;
  rows: number;
  isCursorShown = true;
  /** The number of synchronized frames. */
  frames = 0;
  /** Whether a frame was begun and has not ended. */
  isBusy = false;
  #all: Row[] = [newRow()];
  /** In all rows, not on the screen. */
  #row = 0;
  #column = 0;
  #rest = "";

  constructor(columns: number, rows: number) {
    this.columns = columns;
    this.rows = rows;
  }

  /** The rows on the screen, without the spaces at their ends. */
  get lines(): string[] {
    const texts = this.#all.slice(this.#top).map(textOf);
    while (texts.length > 1 && texts.at(-1) === "") texts.pop();
    return texts;
  }

  /** What has left the screen at its top. */
  get scrolledAway(): string[] {
    return this.#all.slice(0, this.#top).map(textOf);
  }

  get everything(): string {
    return [...this.scrolledAway, ...this.lines].join("\n");
  }

  /** Counts from 0, on the screen. */
  get cursor(): { readonly row: number; readonly column: number } {
    return { row: this.#row - this.#top, column: this.#column };
  }

  write(text: string): void {
    const whole = this.#rest + text;
    const part = UNFINISHED.exec(whole)?.[0] ?? "";
    this.#rest = part;
    const pieces = whole.slice(0, whole.length - part.length).matchAll(PIECE);
    let read = 0;
    for (const { 0: piece, 1: parameters, 2: command, 3: shown } of pieces) {
      read += piece.length;
      if (piece === "\r") this.#column = 0;
      else if (piece === "\n") this.#down();
      else if (command !== undefined) this.#obey(parameters ?? "", command);
      else this.#show(shown ?? "");
    }
    if (read !== whole.length - part.length) throw new Error(`Not understood: ${JSON.stringify(whole)}`);
  }

  /** Rewraps lines, as some terminals do. */
  resize(columns: number, rows: number): void {
    const lines: string[][] = [[]];
    let cursor = { line: 0, at: 0 };
    for (const [index, { cells, isWrapped }] of this.#all.entries()) {
      const line = lines.at(-1) ?? [];
      if (index === this.#row) cursor = { line: lines.length - 1, at: line.length + this.#column };
      line.push(...cells);
      if (!isWrapped && index < this.#all.length - 1) lines.push([]);
    }
    this.columns = columns;
    this.rows = rows;
    this.#all = [];
    for (const [index, line] of lines.entries()) {
      if (index === cursor.line) {
        this.#row = this.#all.length + Math.floor(cursor.at / columns);
        this.#column = cursor.at % columns;
      }
      do {
        const cells = line.splice(0, columns);
        this.#all.push({ cells, isWrapped: line.length > 0 });
      } while (line.length > 0);
    }
    while (this.#all.length <= this.#row) this.#all.push(newRow());
  }

  get #top(): number {
    return Math.max(0, this.#all.length - this.rows);
  }

  get #current(): Row {
    const row = this.#all[this.#row];
    if (row === undefined) throw new Error("The cursor has left the screen.");
    return row;
  }

  #down(): void {
    this.#row++;
    if (this.#row === this.#all.length) this.#all.push(newRow());
  }

  #show(text: string): void {
    for (const character of text) {
      if (textWidth(character) !== 1) throw new Error(`Not one column wide: ${JSON.stringify(character)}`);
      if (this.#column === this.columns) {
        this.#current.isWrapped = true;
        this.#column = 0;
        this.#down();
      }
      const { cells } = this.#current;
      while (cells.length < this.#column) cells.push(" ");
      cells[this.#column++] = character;
    }
  }

  #obey(parameters: string, command: string): void {
    const count = Number(parameters || "1");
    // In the last column the cursor stands on what was written last, and erases it.
    const from = Math.min(this.#column, this.columns - 1);
    switch (`${parameters.startsWith("?") ? parameters : ""}${command}`) {
      case "A":
        this.#row = Math.max(this.#top, this.#row - count);
        return;
      case "K":
        this.#current.cells.length = Math.min(this.#current.cells.length, from);
        return;
      case "J":
        this.#current.cells.length = Math.min(this.#current.cells.length, from);
        for (const row of this.#all.slice(this.#row + 1)) row.cells.length = 0;
        return;
      case "?25h":
      case "?25l":
        this.isCursorShown = command === "h";
        return;
      case "?2026h":
      case "?2026l":
        this.isBusy = command === "h";
        if (!this.isBusy) this.frames++;
        return;
      case "m":
        return;
      default:
        throw new Error(`Not understood: CSI ${parameters}${command}`);
    }
  }
}

function textOf({ cells }: Row): string {
  return cells.join("").trimEnd();
}
