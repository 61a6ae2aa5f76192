/** The passes of a scheduler: how many there were, what became of the last, and who is told of it. */
import { messageOf } from "../../errors.js";
import { StateLockedError } from "../../state/errors.js";
import type { Checker } from "./pass.js";
import { reportError, type SchedulerContext } from "../context.js";

export interface PassListeners {
  /** Called after each pass, if anybody wants to know. May throw or reject. */
  readonly onPassed: (() => unknown) | undefined;
  /** Called when another scheduler owns the state: whatever is done from then on would count for nothing. */
  readonly onTakenOver: () => void;
}

/** More say nothing new, and would be kept for as long as no pass gets through. */
const MOST_TROUBLES = 10;

export class Passes {
  readonly #context: SchedulerContext;
  readonly #checker: Checker;
  readonly #listeners: PassListeners;
  #count = 0;
  #lastAt: Date | undefined;
  /** What has made one fail since the last that did not. */
  readonly #troubles = new Set<string>();

  constructor(context: SchedulerContext, checker: Checker, listeners: PassListeners) {
    this.#context = context;
    this.#checker = checker;
    this.#listeners = listeners;
  }

  get count(): number {
    return this.#count;
  }

  /** When the last one began. */
  get lastAt(): Date | undefined {
    return this.#lastAt;
  }

  /** Counts from 0 again. */
  reset(): void {
    this.#count = 0;
    this.#lastAt = undefined;
    this.#troubles.clear();
  }

  /** Answers how many milliseconds may pass before the next; at once, when there was nothing to wait for. Does not throw. */
  run(): number | Promise<number> {
    this.#count++;
    this.#lastAt = this.#context.clock.now();
    try {
      const restMs = this.#checker.glance();
      return restMs === undefined ? this.#check() : this.#pass(restMs);
    } catch (error) {
      return this.#fail(error);
    }
  }

  async #check(): Promise<number> {
    try {
      return this.#pass(await this.#checker.check());
    } catch (error) {
      return this.#fail(error);
    }
  }

  #pass(restMs: number): number {
    this.#troubles.clear();
    this.#tell();
    return restMs;
  }

  /** A pass that fails as one before did is no news, also when others failed otherwise in between. */
  #fail(error: unknown): number {
    const message = messageOf(error);
    if (!this.#troubles.has(message) && this.#troubles.size < MOST_TROUBLES) {
      this.#troubles.add(message);
      reportError(this.#context, "Error during schedule check", error);
    }
    if (error instanceof StateLockedError) this.#listeners.onTakenOver();
    this.#tell();
    return this.#context.checkInterval;
  }

  #tell(): void {
    const { onPassed } = this.#listeners;
    if (onPassed !== undefined) void this.#tellOne(onPassed);
  }

  async #tellOne(onPassed: () => unknown): Promise<void> {
    try {
      await onPassed();
    } catch (error) {
      reportError(this.#context, "onTick failed", error);
    }
  }
}
