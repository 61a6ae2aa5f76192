// Starts a scheduler whose store takes no schedules, says what came of it, and does nothing more: it has to end by itself.
import { Scheduler } from "../../../../dist/index.js";
import { PostgresStore } from "../../../../dist/state/postgres/index.js";

class Refusing extends PostgresStore {
  define() {
    return Promise.reject(new Error("no schedule is taken"));
  }
}

const [connectionString, schema] = process.argv.slice(2);
const scheduler = new Scheduler({ store: new Refusing({ connectionString, schema }) });
const schedules = { work: { type: "interval", interval: "1h" } };
await scheduler
  .start([{ name: "a", schedules, run() {} }])
  .catch((error) => process.stdout.write(`${error.message}\n`));
