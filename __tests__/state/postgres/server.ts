/**
 * One PostgreSQL server for a whole test run: started before the first test on a free port, gone after the last, also
 * when the run was killed. `ROTA_TEST_DATABASE_URL` uses another. Every test has a schema of its own.
 */
import { fileURLToPath } from "node:url";
import type { TestProject } from "vitest/node";
import { Child } from "../child.js";

declare module "vitest" {
  interface ProvidedContext {
    readonly databaseUrl: string;
  }
}

const SETTINGS = {
  max_connections: "300",
  shared_buffers: "128MB",
  timezone: "UTC",
  // Nothing here outlives its test, and no test pulls the plug.
  fsync: "off",
  synchronous_commit: "off",
  full_page_writes: "off",
};

/** What vitest calls before the first test; what it answers is called after the last. */
export default async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  const given = process.env["ROTA_TEST_DATABASE_URL"] ?? "";
  if (given !== "") {
    project.provide("databaseUrl", given);
    return undefined;
  }
  const server = await startServer();
  project.provide("databaseUrl", server.url);
  return () => server.stop();
}

export interface TestServer {
  readonly url: string;
  stop(): Promise<void>;
  /** Ends it with all its connections, and starts it again on the same port and data. `crash`: without any order. */
  restart(how?: "restart" | "crash"): Promise<void>;
}

/** A server with nothing in it. */
export async function startServer(
  settings: Readonly<Record<string, string>> = SETTINGS,
): Promise<TestServer> {
  const program = fileURLToPath(new URL("processes/serve.js", import.meta.url));
  const child = new Child(program, [JSON.stringify(settings)]);
  const url = await child.line((line) => line.startsWith("postgres://"));
  let restarts = 0;
  return {
    url,
    async stop() {
      child.endInput();
      await child.end();
    },
    async restart(how = "restart") {
      restarts++;
      child.say(how);
      await child.linesOf("restarted", restarts);
    },
  };
}
