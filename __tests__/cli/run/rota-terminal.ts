/** `rota run` on a pseudo-terminal with a virtual screen. Ended with the test. */
import { type IPty, spawn } from "@lydell/node-pty";
import { onTestFinished } from "vitest";
import { until } from "../../state/child.js";
import { MAIN } from "./rota-process.js";
import { VirtualScreen } from "./virtual-screen.js";

export interface RotaTerminalOptions {
  readonly columns?: number;
  readonly rows?: number;
  readonly env?: Readonly<Record<string, string>>;
}

/** node-pty's types lack this method. */
interface ClosablePty extends IPty {
  destroy(): void;
}

export class RotaTerminal {
  readonly screen: VirtualScreen;
  /** What was written, a text for each read. */
  readonly chunks: string[] = [];
  exit: { readonly exitCode: number; readonly signal?: number | undefined } | undefined = undefined;
  readonly #pty: ClosablePty;

  constructor(args: readonly string[], cwd: string, options: RotaTerminalOptions = {}) {
    const { columns: cols = 100, rows = 20, env = {} } = options;
    this.screen = new VirtualScreen(cols, rows);
    const inherited = { PATH: process.env["PATH"] ?? "", TERM: "xterm-256color", ...env };
    this.#pty = spawn(process.execPath, [MAIN, "run", ...args], {
      cols,
      rows,
      cwd,
      env: inherited,
    }) as ClosablePty;
    this.#pty.onData((text) => {
      this.chunks.push(text);
      this.screen.write(text);
    });
    this.#pty.onExit((exit) => (this.exit = exit));
    onTestFinished(async () => {
      if (this.exit === undefined) this.#pty.kill("SIGKILL");
      await until(() => this.exit !== undefined);
    });
  }

  get pid(): number {
    return this.#pty.pid;
  }

  type(keys: string): void {
    this.#pty.write(keys);
  }

  resize(columns: number, rows: number): void {
    this.screen.resize(columns, rows);
    this.#pty.resize(columns, rows);
  }

  /** As when its window is closed. */
  close(): void {
    this.#pty.destroy();
  }

  /** Resolves when the screen shows this, between two frames; rejects when it ends without. */
  async shows(isShown: (lines: readonly string[]) => boolean): Promise<void> {
    const isSeen = (): boolean => !this.screen.isBusy && isShown(this.screen.lines);
    await until(() => isSeen() || this.exit !== undefined);
    if (!isSeen()) throw new Error(`It ended without that:\n${this.screen.everything}`);
  }

  async end(): Promise<number> {
    await until(() => this.exit !== undefined);
    return this.exit?.exitCode ?? -1;
  }
}
