/**
 * A Redis for bullmq: the one that ROTA_BENCH_REDIS_URL names, else one that is installed, else Debian's, which is
 * unpacked beside the other peers and needs no root.
 */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { freePort } from "./server.js";

const FOLDER = fileURLToPath(new URL("./node_modules/.cache/redis/", import.meta.url));
const PACKAGES = ["redis-server", "redis-tools", "libjemalloc2", "liblzf1", "libatomic1"];
const PROGRAMS = ["redis-server", "valkey-server"];

/** With its `url`, or with the `reason` why there is none. */
export async function startRedis() {
  const url = process.env.ROTA_BENCH_REDIS_URL;
  if (url !== undefined) return { url, version: "of ROTA_BENCH_REDIS_URL", stop: async () => {} };
  const found = PROGRAMS.map(installed).find((it) => it.version !== undefined) ?? unpacked();
  if (found.version === undefined) return found;
  return started(found).catch((error) => ({ reason: error.message }));
}

function installed(program, env = process.env) {
  try {
    const text = execFileSync(program, ["--version"], { env, encoding: "utf8", stdio: "pipe" });
    return { program, env, version: text.match(/v=(\S+)/)?.[1] ?? text.trim() };
  } catch (error) {
    return { reason: `${program} does not run: ${error.message}` };
  }
}

/** Debian's, with the libraries it needs. */
function unpacked() {
  const program = join(FOLDER, "usr/bin/redis-server");
  try {
    if (!existsSync(program)) {
      mkdirSync(FOLDER, { recursive: true });
      const inFolder = { cwd: FOLDER, stdio: "pipe" };
      execFileSync("apt-get", ["download", ...PACKAGES], inFolder);
      for (const name of readdirSync(FOLDER).filter((file) => file.endsWith(".deb")))
        execFileSync("dpkg", ["-x", name, "."], inFolder);
    }
  } catch (error) {
    return { reason: `none is installed, and Debian's cannot be had: ${error.message}` };
  }
  const libraries = readdirSync(join(FOLDER, "usr/lib"), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => join(FOLDER, "usr/lib", name));
  return installed(program, { ...process.env, LD_LIBRARY_PATH: libraries.join(":") });
}

async function started({ program, env, version }) {
  const directory = mkdtempSync(join(tmpdir(), "rota-redis-"));
  const port = await freePort();
  const settings = { port, bind: "127.0.0.1", dir: directory, appendonly: "yes", save: "" };
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const server = spawn(program, args, { env, cwd: dirname(directory), stdio: ["ignore", "pipe", "inherit"] });
  await new Promise((resolve, reject) => {
    server.stdout.setEncoding("utf8");
    server.stdout.on("data", (text) => text.includes("Ready to accept connections") && resolve());
    server.on("error", reject);
    server.on("exit", (code) => reject(new Error(`Redis did not start, exit code ${code}.`)));
  });
  return {
    url: `redis://127.0.0.1:${port}`,
    version,
    pid: server.pid,
    async stop() {
      if (server.exitCode === null && server.signalCode === null) {
        server.kill("SIGTERM");
        await once(server, "exit");
      }
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
