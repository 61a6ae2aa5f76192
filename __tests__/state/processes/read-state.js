// Reads and then changes the state in a directory, and prints what was warned of and what it cost.
import { getScheduleState, updateScheduleState } from "../../../dist/state/file/state-functions.js";

const stateDir = process.argv[2];
const warnings = [];
const logger = { debug() {}, info() {}, warn: (message) => warnings.push(message), error() {} };

const rssBefore = process.memoryUsage().rss;
const started = process.cpuUsage();
const state = await getScheduleState(stateDir, "first", "daily", { logger });
const { user, system } = process.cpuUsage(started);
await updateScheduleState(stateDir, "another", "daily", { failure_count: 1 }, { logger });
const again = await getScheduleState(stateDir, "first", "daily", { logger });

const cpuMs = (user + system) / 1000;
// `maxRSS` is in kilobytes.
const grownBytes = process.resourceUsage().maxRSS * 1024 - rssBefore;
process.stdout.write(JSON.stringify({ state, again, warnings, cpuMs, grownBytes }));
