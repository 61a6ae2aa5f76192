/** A command in its own process group, so that the processes it starts can be ended with it. */
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
  /** Resolves when the command exits, even if a process that it started still holds its pipes; rejects when it cannot start. */
  readonly exited: Promise<GroupExit>;
  #isOver = false;

  /** Throws the system's error for arguments that are too long. */
  constructor(command: string, args: readonly string[], { cwd, env, hasInput }: GroupOptions) {
    this.process = spawn(command, args, {
      cwd,
      env,
      detached: true,
      shell: false,
      windowsHide: true,
      stdio: [hasInput ? "pipe" : "ignore", "pipe", "pipe"],
    });
    this.process.on("error", () => {}); // `exited` rejects with it
    this.exited = this.#exit();
  }

  /** Does nothing when all processes of the group have ended. */
  kill(signal: NodeJS.Signals): void {
    const { pid } = this.process;
    if (pid === undefined || this.#isOver) return;
    try {
      if (process.platform === "win32") this.process.kill(signal);
      else process.kill(-pid, signal);
    } catch {
      // It has ended, or runs as a different user by now.
    }
  }

  /** Detaches: neither the pipes nor the command keep this process alive. */
  release(): void {
    const { stdin, stdout, stderr } = this.process;
    for (const stream of [stdin, stdout, stderr]) stream?.destroy();
    this.process.unref();
  }

  async #exit(): Promise<GroupExit> {
    // `once` rejects on an "error" event.
    await once(this.process, "exit");
    // At once: when the group is empty, the system may reuse its number for a different group.
    this.kill("SIGKILL");
    this.#isOver = true;
    const { exitCode: code, signalCode: signal } = this.process;
    return { code, signal };
  }
}
