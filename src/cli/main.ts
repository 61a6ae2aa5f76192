#!/usr/bin/env node
/** The `rota` command as a process. Ends by itself when all is written, so that a pipe gets everything. */
import { COMMANDS } from "./commands.js";
import { processContext } from "./context.js";
import { runProgram } from "./program.js";
import { packageVersion } from "./version.js";

const program = { version: packageVersion(), commands: COMMANDS };
const exitCode = await runProgram(program, process.argv.slice(2), processContext());
// What could not be written is the worse news.
process.exitCode ??= exitCode;
