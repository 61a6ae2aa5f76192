/** A store in a process of its own that can be stopped, killed, and asked from here. */
import { readFileSync } from "node:fs";
import { Child, until } from "../child.js";

export interface Answer {
  readonly result?: unknown;
  readonly error?: {
    readonly name: string;
    readonly code: string;
    readonly message: string;
    readonly owner?: { readonly pid: number; readonly host: string; readonly since: string };
  };
}

export class ObedientStore implements AsyncDisposable {
  readonly #child: Child;
  #orders = 0;

  constructor(stateDir: string) {
    this.#child = new Child("obey.js", [stateDir]);
  }

  get pid(): number {
    return this.#child.pid;
  }

  /** What a method of the store answers. */
  async call(method: string, ...args: unknown[]): Promise<Answer> {
    const id = ++this.#orders;
    this.#child.say(JSON.stringify({ id, call: method, args }));
    const line = await this.#child.line((text) => text.startsWith(`{"id":${id},`) || text === `{"id":${id}}`);
    return JSON.parse(line) as Answer;
  }

  /** It sends itself the signal right before that step. */
  signalBefore(step: string, signal: NodeJS.Signals): void {
    this.#child.say(JSON.stringify({ signal, before: step }));
  }

  /** Resolves when its event loop has begun to do nothing else for so long. */
  async block(milliseconds: number): Promise<void> {
    this.#child.say(JSON.stringify({ block: milliseconds }));
    await this.#child.line((text) => text === "blocked");
  }

  async stop(): Promise<void> {
    this.#child.signal("SIGSTOP");
    await this.stopped();
  }

  /** Resolves when it has come to a halt. */
  async stopped(): Promise<void> {
    await until(() => stateOf(this.pid) === "T");
  }

  goOn(): void {
    this.#child.signal("SIGCONT");
  }

  kill(): Promise<void> {
    return this.#child.kill();
  }

  /** Resolves when it has ended by itself. */
  ended(): Promise<void> {
    return this.#child.end();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#child.kill();
  }
}

/** The letter that stands for what a process does, as Linux tells it. */
export function stateOf(pid: number): string | undefined {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  return stat.slice(stat.lastIndexOf(")") + 2)[0];
}
