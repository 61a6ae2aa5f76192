// On a small disk of its own: fills it up to 20 different amounts of free space, updates, and prints what came of it.
import { readdirSync, readFileSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { FileStore } from "../../../dist/state/file/file-store.js";

const PAGE = 4096;
const [, , disk] = process.argv;
const stateDir = join(disk, "state");
const file = join(stateDir, "state.yaml");
const filler = join(disk, "filler");
const key = { agent: "a", schedule: "s" };

const store = new FileStore({ stateDir });
// Ten pages: the amounts go from none of them to twice as many.
await store.update(key, { last_error: "x".repeat(10 * PAGE - 500), failure_count: 0 });

const outcomes = [];
for (let amount = 0; amount < 20; amount++) {
  const { bavail, bsize } = statfsSync(disk);
  const freeBytes = amount * PAGE;
  writeFileSync(filler, Buffer.alloc(bavail * bsize - freeBytes, 1));
  const before = readFileSync(file);
  const number = 2 * amount + 1;
  const error = await store.update(key, { failure_count: number }).then(
    () => null,
    ({ name, cause }) => `${name} ${cause.code}`,
  );
  const after = readFileSync(file);
  rmSync(filler);
  const files = readdirSync(stateDir, { recursive: true });
  await store.update(key, { failure_count: number + 1 });
  outcomes.push({
    freeBytes,
    error,
    isOld: after.equals(before),
    isNew: after.includes(`failure_count: ${number}\n`),
    worksAgain: readFileSync(file).includes(`failure_count: ${number + 1}\n`),
    files,
  });
}
await store.close();
process.stdout.write(JSON.stringify(outcomes));
