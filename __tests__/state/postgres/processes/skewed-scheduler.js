// A scheduler whose clock is wrong: it shares one agent with others, and has one of its own. Prints "ready", then what it
// misses and what goes wrong, and "own" at each run of its own. The end of its input stops it.
import { writeSync } from "node:fs";
import { askScheduler, Scheduler } from "../../../../dist/index.js";
import { PostgresStore } from "../../../../dist/state/postgres/index.js";
import { skewClock } from "./skewed-clock.js";

const [, , skewMs, connectionString, schema] = process.argv;
skewClock(Number(skewMs));
const say = (line) => writeSync(1, `${line}\n`);
const own = `own ${skewMs}`;
const warn = (message) => say(`trouble: ${message}`);
const logger = { info() {}, warn, error: warn };
const store = new PostgresStore({ connectionString, schema, logger });
const scheduler = new Scheduler({ store, logger });
scheduler.on("schedule:missed", ({ agent, slot }) => say(`missed ${agent} ${slot.toISOString()}`));
scheduler.on("job:finished", ({ job }) => job.agent === own && say("own"));
// A slow machine is allowed to be late, a wrong clock is not to be seen.
const grid = { type: "cron", expression: "*/2 * * * * *", timezone: "UTC", grace: "1m" };
await scheduler.start([
  { name: "shared", schedules: { grid }, run() {} },
  { name: own, schedules: { work: { type: "interval", interval: "1s" } }, run() {} },
]);
say("ready");
for await (const _ of process.stdin);
// What a command does, whose store is never opened.
const outsider = new PostgresStore({ connectionString, schema, logger });
const answer = await askScheduler(outsider, { agent: own, schedule: "work" }, { action: "run" });
say(answer === undefined ? "unanswered" : "answered");
await scheduler.stop();
await outsider.jobs.start({ agent: "outsider", trigger: "manual" });
await outsider.close();
say("stopped");
