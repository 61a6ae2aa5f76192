/** A command as a process group of its own, so that what it has started can be ended with it. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";

export interface GroupOptions {
  readonly cwd: string | undefined;
  readonly env: Readonly<Record<string, string>>;
  readonly hasInput: boolean;
}

export interface GroupExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export class ProcessGroup {
  readonly process: ChildProcess;
  /** When its first process has ended, whoever else holds its pipes; rejects when it could not be started. */
  readonly exited: Promise<GroupExit>;
  #isOver = false;

  /** Throws what the system says of arguments that it cannot take. */
  constructor(command: string, args: readonly string[], { cwd, env, hasInput }: GroupOptions) {
    this.process = spawn(command, args, {
      cwd,
      env,
      detached: true,
      shell: false,
      windowsHide: true,
      stdio: [hasInput ? "pipe" : "ignore", "pipe", "pipe"],
    });
    this.process.on("error", () => {}); // who waits for its exit hears of it
    this.exited = this.#exit();
  }

  /** Those who have ended already are no trouble. */
  kill(signal: NodeJS.Signals): void {
    const { pid } = this.process;
    if (pid === undefined || this.#isOver) return;
    try {
      if (process.platform === "win32") this.process.kill(signal);
      else process.kill(-pid, signal);
    } catch {
      // It is gone, or no longer ours to end.
    }
  }

  /** Lets go of it: neither its pipes nor itself keep this process alive. */
  release(): void {
    const { stdin, stdout, stderr } = this.process;
    for (const stream of [stdin, stdout, stderr]) stream?.destroy();
    this.process.unref();
  }

  async #exit(): Promise<GroupExit> {
    // It rejects by itself when there is an "error" before.
    await once(this.process, "exit");
    // What it leaves behind ends with it, and at once: the number of a group may be another's when that is empty.
    this.kill("SIGKILL");
    this.#isOver = true;
    const { exitCode: code, signalCode: signal } = this.process;
    return { code, signal };
  }
}
