/** Builds dist/ when a source is newer, for the tests that start programs which import the built package. */
import { execFileSync } from "node:child_process";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../", import.meta.url));

export default function setup(): void {
  const builtMs = changedMs(join(root, "dist/index.js"));
  const sources = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" });
  if (sources.every((file) => changedMs(join(root, "src", file)) < builtMs)) return;
  execFileSync("npm", ["run", "--silent", "build"], { cwd: root, stdio: "inherit" });
}

/** When the file was last written; long ago when there is none. */
function changedMs(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? -Infinity;
}
