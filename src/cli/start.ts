/** Runs this process's command line. Sets the exit code and lets the process end by itself, so that pipes are flushed. */
import { COMMANDS } from "./commands.js";
import { processContext } from "./context.js";
import { runProgram } from "./program.js";
import { packageVersion } from "./version.js";

export async function start(): Promise<void> {
  const program = { version: packageVersion(), commands: COMMANDS };
  const exitCode = await runProgram(program, process.argv.slice(2), processContext());
  // An error while writing the output has already set a failure, which takes precedence.
  process.exitCode ??= exitCode;
}
