/** Runs a program in a separate process, as a user does: the import "rota" resolves to the built package. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";

export interface RunOptions {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Called with all output so far, each time the program writes. */
  readonly onOutput?: (out: string, process: ChildProcess) => void;
}

export interface Ended {
  readonly exitCode: number | null;
  readonly out: string;
  readonly err: string;
}

export async function runNode(args: readonly string[], options: RunOptions): Promise<Ended> {
  const { cwd, env = {}, onOutput } = options;
  // Without the settings that the test runner gives to its child processes.
  const { NODE_OPTIONS: _, NODE_V8_COVERAGE: __, NODE_TEST_CONTEXT: ___, ...own } = process.env;
  const child = spawn(process.execPath, args, {
    cwd,
    env: { ...own, ...env },
    stdio: ["ignore", "pipe", "pipe"],
    // A program that hangs ends before the timeout of its test.
    timeout: 55_000,
    killSignal: "SIGKILL",
  });
  let out = "";
  let err = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    out += text;
    onOutput?.(out, child);
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => (err += text));
  await once(child, "close");
  return { exitCode: child.exitCode, out, err };
}
