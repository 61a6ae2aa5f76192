// A PostgreSQL server with these settings: prints its URL. "restart" restarts it, "crash" at once; the end of the input ends it.
// A process of its own, because the package that starts it takes over how its process exits.
import { writeSync } from "node:fs";
import { createInterface } from "node:readline";
import { startServer } from "../../../../bench/postgres/server.js";

const server = await startServer(JSON.parse(process.argv[2] ?? "{}"));
writeSync(1, `${server.url}\n`);
for await (const line of createInterface({ input: process.stdin })) {
  if (line !== "restart" && line !== "crash") continue;
  await server.restart(line === "crash" ? "SIGQUIT" : "SIGINT");
  writeSync(1, "restarted\n");
}
await server.stop();
