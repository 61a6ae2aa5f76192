/** A line at a terminal that shows that something goes on, and is gone when it is over. Nothing where none looks. */
import { wakeAfter } from "../clock.js";
import type { CliContext } from "./context.js";
import { spinnerFrame } from "./format/spinner.js";
import { shortDuration } from "./format/when.js";

const BACK_AND_ERASE = "\r\u001B[K";

export class Progress {
  readonly #stream: CliContext["stderr"];
  #step = 0;
  #isShown = false;

  constructor({ stderr }: CliContext) {
    this.#stream = stderr;
  }

  /** Each call turns the wheel one step. The text is one line. */
  show(text: string): void {
    if (this.#stream.isTTY !== true) return;
    const room = (this.#stream.columns ?? 80) - 3;
    this.#stream.write(`${BACK_AND_ERASE}${spinnerFrame(this.#step++)} ${text.slice(0, room)}`);
    this.#isShown = true;
  }

  end(): void {
    if (this.#isShown) this.#stream.write(BACK_AND_ERASE);
    this.#isShown = false;
  }
}

const TURN_MS = 250;

/** Shows for how long something runs in this process, until the end of the scope. */
export class Turning implements Disposable {
  readonly #context: CliContext;
  readonly #name: string;
  readonly #progress: Progress;
  readonly #startedMs: number;
  #callOff: () => void = () => {};

  constructor(context: CliContext, name: string) {
    this.#context = context;
    this.#name = name;
    this.#progress = new Progress(context);
    this.#startedMs = context.clock.monotonic();
    this.#turn();
  }

  [Symbol.dispose](): void {
    this.#callOff();
    this.#progress.end();
  }

  #turn(): void {
    const { clock } = this.#context;
    this.#progress.show(`${this.#name} runs, ${shortDuration(clock.monotonic() - this.#startedMs)}`);
    this.#callOff = wakeAfter(clock, TURN_MS, () => this.#turn());
  }
}
