// Opens a store on a schema that may not be there yet, when it is told to. Prints "waits", then how the store opened.
import { writeSync } from "node:fs";
import { once } from "node:events";
import { PostgresStore } from "../../../../dist/state/postgres/index.js";

const [, , connectionString, schema, nodeName] = process.argv;
const store = new PostgresStore({ connectionString, schema, nodeName });
writeSync(1, "waits\n");
await once(process.stdin, "data");
try {
  await store.open();
  const key = { agent: nodeName, schedule: "x" };
  await store.define({ schedules: [key] });
  await store.update(key, { next_run_at: "2026-01-01T00:00:00.000Z", next_run_source: "first-run" });
  const { claims } = await store.claimDue(10);
  writeSync(1, `opened, claims ${claims.map(({ agent }) => agent).join(" ")}\n`);
} catch (error) {
  writeSync(1, `failed: ${error.message}\n`);
}
await store.close();
process.stdin.destroy();
