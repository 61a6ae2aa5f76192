/**
 * Runs jobs through a real agent SDK, and checks that the types of its `query` fit. The SDK is installed on demand into
 * agent-sdk/, without its programs: a stub stands in for them.
 */
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../", import.meta.url));
const folder = join(root, "agent-sdk");

const lock = join(folder, "package-lock.json");
/** A copy of the lock file from the last install. */
const installed = join(folder, "node_modules/.installed.json");

const run = (cwd, command, ...args) => execFileSync(command, args, { cwd, stdio: "inherit" });
const tool = (path, ...args) => run(root, process.execPath, join(root, "node_modules", path), ...args);

if (!existsSync(installed) || !readFileSync(installed).equals(readFileSync(lock))) {
  const flags = ["--omit=optional", "--legacy-peer-deps", "--ignore-scripts", "--no-audit", "--no-fund"];
  run(folder, "npm", "ci", ...flags);
  cpSync(lock, installed);
}
tool("typescript/bin/tsc", "--noEmit", "-p", folder);
tool(
  "vitest/vitest.mjs",
  "run",
  "--root",
  folder,
  "--config",
  join(folder, "vitest.config.ts"),
  ...process.argv.slice(2),
);
