/**
 * A night in which the clocks change, in virtual time: four agents of a small herd, from Saturday evening to Sunday
 * noon in New York, with every start and the reason for it. One agent fails, and one is told to hurry.
 */
import { FakeClock, MemoryStore, Scheduler, seededRandom } from "rota";

const timezone = "America/New_York";
const clock = new FakeClock("2026-03-08T01:00:00Z");

/** A job that takes its time. */
const taking = (duration) => () => clock.sleep(duration);
const failing = async () => {
  await clock.sleep("1m");
  throw new Error("no answer");
};

const herd = [
  {
    name: "nightly-report",
    schedules: { nightly: { type: "cron", expression: "30 2 * * *" } },
    run: taking("5m"),
  },
  { name: "inbox", schedules: { watch: { type: "cron", expression: "0 */4 * * *" } }, run: taking("1m") },
  {
    name: "crawler",
    schedules: { crawl: { type: "interval", interval: "3h", jitter: 5 } },
    run: taking("40m"),
  },
  { name: "flaky-sync", schedules: { sync: { type: "interval", interval: "1h" } }, run: failing },
];

const localTime = new Intl.DateTimeFormat("en-GB", {
  timeZone: timezone,
  weekday: "short",
  hour: "2-digit",
  minute: "2-digit",
  timeZoneName: "short",
});

const scheduler = new Scheduler({
  store: new MemoryStore(),
  clock,
  timezone,
  random: seededRandom(2026),
  checkInterval: 60_000, // an hour of virtual time is an hour of passes
  logger: { info() {}, warn: console.warn, error: console.error },
});
const failures = new Map();
scheduler.on("job:finished", ({ job: { agent, status } }) =>
  failures.set(agent, status === "failed" ? (failures.get(agent) ?? 0) + 1 : 0),
);
scheduler.on("job:started", ({ job: { agent, source } }) => {
  const count = failures.get(agent) ?? 0;
  const backoff = count > 0 ? `, after ${count} failed in a row` : "";
  console.log(`${localTime.format(clock.now())}  ${agent.padEnd(14)}  ${source}${backoff}`);
});

console.log(`A night in ${timezone}: at 02:00 the clocks go to 03:00.\n`);
await scheduler.start(herd);
// Advice from outside: every hour, until it expires at 01:15 local.
await scheduler.hint("inbox", "watch", {
  interval: "1h",
  ttl: "315m",
  reason: "the inbox is filling up",
});
await clock.advanceTo("2026-03-08T16:00:00Z");
await scheduler.stop({ waitForJobs: false });
console.log(
  `\nIt is ${localTime.format(clock.now())}. ${clock.monotonic() / 3_600_000} hours took no time at all.`,
);
