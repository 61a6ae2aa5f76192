// Uses a store under a umask of its own, and prints the modes of everything below a directory.
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { FileStore } from "../../../dist/state/file/file-store.js";
import { completeClaim } from "../../../dist/state/store.js";

const [, , directory, stateDir, umask] = process.argv;
// As any user: root could read what the modes forbid.
if (process.getuid?.() === 0) {
  process.setgid(65534);
  process.setuid(65534);
}
process.umask(Number.parseInt(umask, 8));
const key = { agent: "a", schedule: "s" };
const modes = {};

const store = new FileStore({ stateDir });
await store.open();
await store.define({ schedules: [key] });
for (let round = 0; round < 2; round++) {
  await store.update(key, { next_run_at: "2026-01-01T00:00:00.000Z" });
  const { claims } = await store.claimDue(1);
  const [claim] = claims;
  await store.jobs.start({ id: claim.jobId, agent: "a", schedule: "s", trigger: "interval" });
  await completeClaim(store, claim, { failure_count: round });
}
// While it is open, so that the owner's lock has its file.
for (const name of readdirSync(directory, { recursive: true })) {
  const plain = name.replace(/\d+-\d+-[0-9a-f]{12}-[0-9a-f]{24}/, "held").replace(/\d{4}-\d\d-\d\d/, "day");
  modes[plain] = (statSync(join(directory, name)).mode & 0o7777).toString(8);
}
await store.close();
const again = new FileStore({ stateDir });
const { failure_count } = await again.read(key);
await again.close();
process.stdout.write(JSON.stringify({ failure_count, modes }));
