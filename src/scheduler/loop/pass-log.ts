/** How many passes there were, what became of the last, and the report of it. */
import { messageOf } from "../../errors.js";
import { StateLockedError } from "../../state/errors.js";
import { reportError, type SchedulerContext } from "../context.js";
import type { Pass } from "./pass.js";

export interface PassListeners {
  /** Called after each pass. May throw or reject. */
  readonly onPassed: (() => unknown) | undefined;
  /** Called when a different scheduler has taken the state over, so that no write from here counts. */
  readonly onTakenOver: (error: StateLockedError) => void;
}

/** More messages would say nothing new, and are kept for as long as no pass gets through. */
const MOST_TROUBLES = 10;

export class PassLog {
  readonly #context: SchedulerContext;
  readonly #pass: Pass;
  readonly #listeners: PassListeners;
  #count = 0;
  #lastAt: Date | undefined;
  /** How long passes have nothing to do; `undefined` where a listener wants to hear of each. */
  idleMs: number | undefined;
  /** Why passes have failed since the last that did not. */
  readonly #troubles = new Set<string>();

  constructor(context: SchedulerContext, pass: Pass, listeners: PassListeners) {
    this.#context = context;
    this.#pass = pass;
    this.#listeners = listeners;
  }

  get count(): number {
    return this.#count;
  }

  /** When the last pass began. */
  get lastAt(): Date | undefined {
    return this.#lastAt;
  }

  /** Counts passes that the clock left out. */
  readonly skip = (count: number): void => {
    this.#count += count;
  };

  /** Counts from 0 again. */
  reset(): void {
    this.#count = 0;
    this.#lastAt = undefined;
    this.#troubles.clear();
  }

  /** Runs a pass. Returns how many milliseconds may go by before the next; does not reject. */
  async run(): Promise<number> {
    this.#count++;
    this.#lastAt = this.#context.clock.now();
    let sleepMs = this.#context.checkInterval;
    this.idleMs = undefined;
    try {
      sleepMs = await this.#pass.run();
      if (this.#listeners.onPassed === undefined) this.idleMs = this.#pass.idleMs;
      this.#troubles.clear();
    } catch (error) {
      this.#fail(error);
    }
    if (this.#listeners.onPassed !== undefined) void this.#tell(this.#listeners.onPassed);
    return sleepMs;
  }

  /** Reports a failure once, until a pass gets through. */
  #fail(error: unknown): void {
    const message = messageOf(error);
    if (!this.#troubles.has(message) && this.#troubles.size < MOST_TROUBLES) {
      this.#troubles.add(message);
      reportError(this.#context, "Error during schedule check", error);
    }
    if (error instanceof StateLockedError) this.#listeners.onTakenOver(error);
  }

  async #tell(onPassed: () => unknown): Promise<void> {
    try {
      await onPassed();
    } catch (error) {
      reportError(this.#context, "onTick failed", error);
    }
  }
}
