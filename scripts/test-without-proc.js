/**
 * Runs the tests of files, locks and the runner as on a system without /proc, such as macOS: in a mount namespace with an
 * empty /proc. Needs Linux and the right to mount, as root has. Tests that measure memory are left out: Node itself reads
 * the memory of a process from /proc.
 */
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../", import.meta.url));
const named = process.argv.slice(2);
const FOLDERS = ["__tests__/state/file", "__tests__/runner"];
const MEASURES_MEMORY = /\/(?:runner-memory|hostile-sizes)\.test\.ts$/;
const all = FOLDERS.flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true }).map((name) => join(folder, name)),
);
const files = all.filter((file) => file.endsWith(".test.ts") && !MEASURES_MEMORY.test(file));
const paths = named.length > 0 ? named : files;
const vitest = [join(root, "node_modules/vitest/vitest.mjs"), "run", ...paths];
// "$0" is the node that runs this, "$@" the rest: neither is read as shell text.
const hideProc = 'mount -t tmpfs none /proc && exec "$0" "$@"';
const { status, error } = spawnSync(
  "unshare",
  ["--mount", "sh", "-c", hideProc, process.execPath, ...vitest],
  { cwd: root, stdio: "inherit" },
);
if (error !== undefined) console.error(`Could not hide /proc: ${error.message}. Run it as root on Linux.`);
process.exitCode = status ?? 1;
