/** Where what is said goes: data to stdout, so that it can be piped, and talk to stderr, where it disturbs no pipe. */
import type { CliContext } from "./context.js";
import { type Paint, paintFor } from "./format/style.js";
import { type Cell, type Column, tableLines } from "./format/table.js";

export class Output {
  readonly #context: CliContext;
  /** For what goes to stdout. */
  readonly paint: Paint;
  /** For what goes to stderr. */
  readonly paintTalk: Paint;

  constructor(context: CliContext, isColorWanted: boolean) {
    this.#context = context;
    this.paint = paintFor(context.stdout, context.env, isColorWanted);
    this.paintTalk = paintFor(context.stderr, context.env, isColorWanted);
  }

  /** A line of data. */
  line(text = ""): void {
    this.#context.stdout.write(`${text}\n`);
  }

  /** Data as it is. */
  raw(bytes: string | Uint8Array): void {
    this.#context.stdout.write(bytes);
  }

  /** A line for the person at the terminal. */
  talk(text: string): void {
    this.#context.stderr.write(`${text}\n`);
  }

  /** One document. */
  json(value: unknown): void {
    this.line(JSON.stringify(value, undefined, 2));
  }

  /** One of a stream of documents. */
  jsonLine(value: unknown): void {
    this.line(JSON.stringify(value));
  }

  /** Fits the terminal; what goes to a file is never cut. */
  table(columns: readonly Column[], rows: readonly (readonly Cell[])[]): void {
    const { isTTY, columns: width = 80 } = this.#context.stdout;
    const lines = tableLines(columns, rows, { width: isTTY === true ? width : Infinity, paint: this.paint });
    for (const one of lines) this.line(one);
  }
}
