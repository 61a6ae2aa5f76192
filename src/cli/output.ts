/** Writes data to stdout, for pipes, and messages to stderr. */
import type { CliContext } from "./context.js";
import { type Paint, paintFor } from "./format/style.js";
import { type Cell, type Column, tableLines } from "./format/table.js";

export class Output {
  readonly #context: CliContext;
  /** Colours for stdout. */
  readonly paint: Paint;
  /** Colours for stderr. */
  readonly paintMessage: Paint;

  constructor(context: CliContext, isColorWanted: boolean) {
    this.#context = context;
    this.paint = paintFor(context.stdout, context.env, isColorWanted);
    this.paintMessage = paintFor(context.stderr, context.env, isColorWanted);
  }

  /** Whether the terminal's cursor is at the end of an incomplete line. */
  #isMidLine = false;

  /** A line of data. */
  line(text = ""): void {
    this.#context.stdout.write(`${text}\n`);
  }

  /** Data without a line break. */
  raw(bytes: string | Uint8Array): void {
    const { stdout } = this.#context;
    stdout.write(bytes);
    this.#isMidLine = stdout.isTTY === true && !["\n", 10].includes(bytes.at(-1) ?? "\n");
  }

  /** A line for the person at the terminal. */
  message(text: string): void {
    this.#context.stderr.write(this.#isMidLine ? `\n${text}\n` : `${text}\n`);
    this.#isMidLine = false;
  }

  /** One indented JSON document. */
  json(value: unknown): void {
    this.line(JSON.stringify(value, undefined, 2));
  }

  /** One line of a JSON stream. */
  jsonLine(value: unknown): void {
    this.line(JSON.stringify(value));
  }

  /** Fits the terminal's width; output to a file or pipe is never cut. */
  table(columns: readonly Column[], rows: readonly (readonly Cell[])[]): void {
    const { isTTY, columns: width = 80 } = this.#context.stdout;
    const lines = tableLines(columns, rows, { width: isTTY === true ? width : Infinity, paint: this.paint });
    for (const one of lines) this.line(one);
  }
}
