/** A progress line on a terminal, erased at the end. Prints nothing when stderr is not a terminal. */
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

  /** Advances the spinner by one step. The text is one line. */
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

/** Shows how long a job has run in this process, until it is disposed of. */
export class ElapsedProgress implements Disposable {
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
    this.#progress.show(`${this.#name} running, ${shortDuration(clock.monotonic() - this.#startedMs)}`);
    this.#callOff = wakeAfter(clock, TURN_MS, () => this.#turn());
  }
}
