/** Builds dist/ and lib/ when a source is newer, for the tests that start programs which import the built package. */
import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";

export default function setup(): void {
  const script = fileURLToPath(new URL("../../scripts/build.js", import.meta.url));
  execFileSync(process.execPath, [script, "--if-needed"], { stdio: "inherit" });
}
