// A scheduler with nothing to do, in a process with nothing else to do. Prints "running", then "pass" for each pass.
// Arguments: the database, the schema, the scheduler's options as JSON, and how the store is connected: "url" or "pool".
import { writeSync } from "node:fs";
import { Pool } from "pg";
import { Scheduler } from "../../../../dist/index.js";
import { PostgresStore } from "../../../../dist/state/postgres/index.js";

const [connectionString, schema, options, how] = process.argv.slice(2);

const say = (line) => writeSync(1, `${line}\n`);
const connected =
  how === "pool" ? { pool: new Pool({ connectionString, allowExitOnIdle: true }) } : { connectionString };
const logger = { info() {}, warn() {}, error() {} };
const store = new PostgresStore({ ...connected, schema, logger });
const onTick = () => say("pass");
const scheduler = new Scheduler({ store, logger, checkInterval: 50, onTick, ...JSON.parse(options) });
await scheduler.start([{ name: "a", schedules: { work: { type: "webhook" } }, run: async () => {} }]);
say("running");
