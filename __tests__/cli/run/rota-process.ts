/** The built `rota run` as a process without a terminal. Ended with the test. */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import { until } from "../../state/child.js";

export const MAIN: string = fileURLToPath(new URL("../../../lib/cli/main.js", import.meta.url));

export class RotaProcess {
  readonly #process: ChildProcessByStdio<null, Readable, Readable>;
  readonly #closed: Promise<unknown>;
  #out = "";
  #err = "";

  /** `nodeArgs`: arguments for Node itself. */
  constructor(args: readonly string[], cwd: string, nodeArgs: readonly string[] = []) {
    this.#process = spawn(process.execPath, [...nodeArgs, MAIN, "run", ...args], {
      cwd,
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#process.stdout.setEncoding("utf8").on("data", (text: string) => (this.#out += text));
    this.#process.stderr.setEncoding("utf8").on("data", (text: string) => (this.#err += text));
    this.#closed = once(this.#process, "close");
    onTestFinished(async () => {
      this.#process.kill("SIGKILL");
      await this.#closed;
    });
  }

  get pid(): number {
    return this.#process.pid ?? 0;
  }

  get out(): string {
    return this.#out;
  }

  get err(): string {
    return this.#err;
  }

  signal(signal: NodeJS.Signals): void {
    this.#process.kill(signal);
  }

  /** As when the reader of a pipe is gone. */
  hangUp(): void {
    this.#process.stdout.destroy();
  }

  /** Resolves when the process prints this; rejects when it ends without it. */
  async heard(text: string): Promise<void> {
    const isHeard = (): boolean => `${this.#out}${this.#err}`.includes(text);
    const { exitCode } = this.#process;
    await until(() => isHeard() || this.#process.exitCode !== exitCode);
    if (!isHeard()) throw new Error(`It ended without ${JSON.stringify(text)}: ${this.#out}${this.#err}`);
  }

  /** Its exit code, when it has ended by itself. */
  async end(): Promise<number | null> {
    await this.#closed;
    return this.#process.exitCode;
  }
}
