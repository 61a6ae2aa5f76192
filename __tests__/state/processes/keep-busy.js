// A scheduler whose schedules run a job every second, spread over the second, until "stop" comes in.
// Arguments: the state directory, how many schedules. Prints "running", each warning and error but missed runs as JSON, then "stopped".
import { writeSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
import { Scheduler } from "../../../dist/index.js";

const [stateDir, count] = process.argv.slice(2);
const say = (line) => writeSync(1, `${line}\n`);
// On a busy machine a schedule may be looked at a second late, and says so.
const report = (message) => message.includes(" missed ") || say(JSON.stringify({ message }));
const scheduler = new Scheduler({ stateDir, logger: { info() {}, warn: report, error: report } });
const agents = Array.from({ length: Number(count) }, (_, index) => ({
  name: `agent-${index}`,
  schedules: { work: { type: "interval", interval: "1s" } },
  run: () => setTimeout(1 + ((index * 37) % 97)),
}));
await scheduler.start(agents);
say("running");
for await (const _ of process.stdin) break;
await scheduler.stop();
say("stopped");
process.exit();
