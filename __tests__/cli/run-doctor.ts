/** Runs `rota doctor` on a terminal, and advances the clock while it measures the clock. */
import type { ExitCode } from "../../src/cli/exit-codes.js";
import { until } from "../state/child.js";
import type { Terminal } from "./terminal.js";

export async function runDoctor(terminal: Terminal, ...args: string[]): Promise<ExitCode> {
  const running = terminal.run("doctor", ...args);
  await until(() => terminal.clock.sleeping > 0);
  await terminal.clock.advance(100);
  return running;
}
