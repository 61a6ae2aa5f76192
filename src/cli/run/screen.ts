/** The part of a terminal that is redrawn in place, with lines scrolling by above it. Hides the cursor while open. */
import type { CliStream } from "../context.js";
import { type Frame, frameText, HIDE_CURSOR, SHOW_CURSOR } from "./frame.js";

const NOTHING: Frame = { lines: [], columns: 0 };

export class Screen {
  readonly #stream: CliStream;
  #frame: Frame = NOTHING;
  #scrolled: string[] = [];
  #isOpen = false;

  constructor(stream: CliStream) {
    this.#stream = stream;
  }

  /** Queues a line that scrolls by above the next frame. */
  print(line: string): void {
    this.#scrolled.push(line);
  }

  /** Writes once, or not at all when the frame is unchanged. */
  draw(lines: readonly string[], columns: number): void {
    const before = this.#isOpen ? this.#frame : { ...NOTHING, columns };
    const text = frameText(before, { lines, columns }, this.#scrolled);
    this.#frame = { lines, columns };
    this.#scrolled = [];
    if (text !== "") this.#stream.write(this.#isOpen ? text : `${HIDE_CURSOR}${text}`);
    this.#isOpen ||= text !== "";
  }

  /** Erases the frame, prints the queued lines and restores the cursor. May be called again. */
  close(): void {
    if (!this.#isOpen && this.#scrolled.length === 0) return;
    const { columns } = this.#frame;
    const text = frameText(this.#frame, { lines: [], columns }, this.#scrolled);
    this.#scrolled = [];
    this.#frame = NOTHING;
    this.#stream.write(this.#isOpen ? `${text}${SHOW_CURSOR}` : text);
    this.#isOpen = false;
  }
}
