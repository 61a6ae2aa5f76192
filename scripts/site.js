/**
 * Builds the site into site/dist: the pages of docs/, and the API reference from the comments in src/.
 * The site needs different versions of Vite and TypeScript than Rota's tests, so it has a separate package.json and lock file.
 */
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../", import.meta.url));
const site = join(root, "site");

const lock = join(site, "package-lock.json");
/** A copy of the lock file from the last install. */
const installed = join(site, "node_modules/.installed.json");

const run = (command, ...args) => execFileSync(command, args, { cwd: site, stdio: "inherit" });
const tool = (path, ...args) => run(process.execPath, join(site, "node_modules", path), ...args);

if (!existsSync(installed) || !readFileSync(installed).equals(readFileSync(lock))) {
  run("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund");
  cpSync(lock, installed);
}
rmSync(join(site, "pages"), { recursive: true, force: true });
cpSync(join(root, "docs"), join(site, "pages"), { recursive: true });
tool("typedoc/bin/typedoc", "--logLevel", "Warn");
tool("vitepress/bin/vitepress.js", "build", site);
