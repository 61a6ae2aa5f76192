/** A process of its own for a test, which is gone at the end of its scope whatever became of it. It runs the build. */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";

/** The path of one of the programs beside this file, or of one that is named by its URL. */
export function programPath(name: string): string {
  return fileURLToPath(new URL(name, new URL("processes/", import.meta.url)));
}

/** Looks until the condition holds; what ends a wait in vain is the test's own time limit. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await setTimeout(2);
}

export class Child implements AsyncDisposable {
  /** What it has printed so far. */
  readonly lines: string[] = [];
  readonly #process: ChildProcessByStdio<Writable, Readable, null>;
  readonly #ended: Promise<unknown>;
  readonly #read: Promise<void>;
  #isOver = false;

  constructor(program: string, args: readonly string[] = [], cwd: string = process.cwd()) {
    this.#process = spawn(process.execPath, [programPath(program), ...args], {
      stdio: ["pipe", "pipe", "inherit"],
      cwd,
    });
    this.#process.stdin.on("error", () => {}); // it may be gone before it has read everything
    this.#ended = once(this.#process, "exit");
    this.#read = this.#collect();
  }

  get pid(): number {
    return this.#process.pid ?? 0;
  }

  get exitCode(): number | null {
    return this.#process.exitCode;
  }

  say(line: string): void {
    this.#process.stdin.write(`${line}\n`);
  }

  /** Nothing more will be said to it. */
  endInput(): void {
    this.#process.stdin.end();
  }

  signal(signal: NodeJS.Signals): void {
    this.#process.kill(signal);
  }

  /** Resolves to the first line for which this is true; rejects when the process ends without such a line. */
  async line(isWanted: (line: string) => boolean): Promise<string> {
    await until(() => this.#isOver || this.lines.some(isWanted));
    const found = this.lines.find(isWanted);
    if (found === undefined) throw new Error(`It ended without that line: ${this.lines.join(" | ")}`);
    return found;
  }

  /** Resolves when it has printed this line so many times, or has ended. */
  async linesOf(line: string, times: number): Promise<void> {
    await until(() => this.#isOver || this.lines.filter((said) => said === line).length >= times);
  }

  /** Resolves when it has ended and all it said was read. */
  async end(): Promise<void> {
    await this.#ended;
    await this.#read;
  }

  async kill(): Promise<void> {
    this.#process.kill("SIGKILL");
    await this.end();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }

  async #collect(): Promise<void> {
    for await (const line of createInterface({ input: this.#process.stdout })) this.lines.push(line);
    this.#isOver = true;
  }
}

/** Any number of processes, all gone at the end of the scope. */
export class Children implements AsyncDisposable {
  readonly #children: Child[] = [];

  start(program: string, args: readonly string[] = [], cwd?: string): Child {
    const child = new Child(program, args, cwd);
    this.#children.push(child);
    return child;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#children.map((child) => child.kill()));
  }
}
