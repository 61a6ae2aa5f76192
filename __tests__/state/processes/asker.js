// Asks a scheduler of a different process, once for each line of its input: "agent {request}". Prints the answers and how long each took.
import { writeSync } from "node:fs";
import { createInterface } from "node:readline";
import { askScheduler, FileStore } from "../../../dist/index.js";

const [, , stateDir, connectionString, schema] = process.argv;
const store =
  connectionString === undefined
    ? new FileStore({ stateDir })
    : new (await import("../../../dist/state/postgres/index.js")).PostgresStore({ connectionString, schema });
if (connectionString !== undefined) await store.list("a0");
writeSync(1, "ready\n");
for await (const line of createInterface({ input: process.stdin })) {
  const [agent, request] = [line.slice(0, line.indexOf(" ")), JSON.parse(line.slice(line.indexOf(" ")))];
  const startedMs = performance.now();
  const answer = await askScheduler(store, { agent, schedule: "work" }, { action: "run", ...request });
  writeSync(1, `answer ${JSON.stringify({ ...answer, ms: performance.now() - startedMs })}\n`);
}
await store.close();
