/** Keeps the quick tests quick: a test that starts a process fails here and says where its file belongs. */
import childProcess from "node:child_process";
import { syncBuiltinESMExports } from "node:module";

const STARTERS = ["exec", "execFile", "execFileSync", "execSync", "fork", "spawn", "spawnSync"] as const;

for (const name of STARTERS) {
  Object.assign(childProcess, {
    [name]: (command: unknown): never => {
      throw new Error(
        `A quick test called ${name}(${JSON.stringify(command)}): list its file under PROCESSES in vitest.config.ts.`,
      );
    },
  });
}
syncBuiltinESMExports();
