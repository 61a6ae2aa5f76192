/** A terminal for a test: the command runs in this process, on real files and a fake clock. */
import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Clock, FakeClock } from "../../src/clock.js";
import type { Command } from "../../src/cli/command.js";
import { COMMANDS } from "../../src/cli/commands.js";
import type { CliContext, CliStream } from "../../src/cli/context.js";
import type { ExitCode } from "../../src/cli/exit-codes.js";
import { runProgram } from "../../src/cli/program.js";
import { stateDirectory } from "../state/temporary-directory.js";

export const NOW = "2026-03-01T12:00:00.000Z";

export interface TerminalOptions {
  /** Without it, output goes to a file. */
  readonly columns?: number;
  readonly env?: CliContext["env"];
  readonly commands?: readonly Command[];
}

export class Terminal {
  /** The working directory, removed at the end of the test. */
  readonly cwd: string = stateDirectory();
  readonly stateDir: string = join(this.cwd, ".rota");
  readonly clock: FakeClock = new FakeClock(NOW);
  readonly #options: TerminalOptions;
  readonly #hangUp = new AbortController();
  #out = "";
  #err = "";

  constructor(options: TerminalOptions = {}) {
    this.#options = options;
  }

  get out(): string {
    return this.#out;
  }

  get err(): string {
    return this.#err;
  }

  get lines(): string[] {
    return this.#out.split("\n").slice(0, -1);
  }

  get json(): unknown {
    return JSON.parse(this.#out);
  }

  write(text: string, name = "rota.yaml"): string {
    const file = join(this.cwd, name);
    writeFileSync(file, text);
    return file;
  }

  /** As when the reader of a pipe is gone. */
  hangUp(): void {
    this.#hangUp.abort();
  }

  run(...args: string[]): Promise<ExitCode> {
    const { columns, env = {}, commands = COMMANDS } = this.#options;
    this.#out = "";
    this.#err = "";
    const shape = columns === undefined ? {} : { isTTY: true, columns };
    const stream = (take: (text: string) => void): CliStream => ({
      ...shape,
      write: (chunk) => take(typeof chunk === "string" ? chunk : Buffer.from(chunk).toString("utf8")),
    });
    return runProgram({ version: "1.2.3", commands }, args, {
      stdout: stream((text) => (this.#out += text)),
      stderr: stream((text) => (this.#err += text)),
      env,
      cwd: this.cwd,
      clock: movedBy(this.clock),
      signal: this.#hangUp.signal,
    });
  }
}

export interface Ended {
  readonly exitCode: number;
  readonly out: string;
  readonly err: string;
}

export const MAIN: string = fileURLToPath(new URL("../../lib/cli/main.js", import.meta.url));

export interface RotaOptions {
  /** Arguments for Node itself. */
  readonly nodeArgs?: readonly string[];
  readonly main?: string;
}

/** Runs the built command as a process, without a terminal. */
export function rota(
  args: readonly string[],
  cwd: string,
  { nodeArgs = [], main = MAIN }: RotaOptions = {},
): Promise<Ended> {
  return new Promise((resolve) => {
    const options = { cwd, timeout: 50_000 };
    execFile(process.execPath, [...nodeArgs, main, ...args], options, (error, out, err) => {
      const exitCode = error === null ? 0 : typeof error.code === "number" ? error.code : -1;
      resolve({ exitCode, out, err });
    });
  });
}

/** The time of `clock` as a clock of its own kind: a scheduler warns of a FakeClock beside files, and this terminal has real files. */
function movedBy(clock: FakeClock): Clock {
  return {
    now: () => clock.now(),
    monotonic: () => clock.monotonic(),
    sleep: (ms, signal) => clock.sleep(ms, signal),
    wakeAfter: (ms, wake) => clock.wakeAfter(ms, wake),
  };
}
