/**
 * A night in which the clocks change, in virtual time: four schedules of a small herd, from Saturday evening to Sunday
 * noon in New York, with every start and the reason for it. One agent fails, and one is told to hurry.
 */
import { FakeClock, planNextRun, recordOutcome, seededRandom, validateSchedule } from "rota";

const timezone = "America/New_York";
const MINUTE = 60_000;

const herd = [
  {
    name: "nightly-report",
    schedule: { type: "cron", expression: "30 2 * * *", timezone },
    runMs: 5 * MINUTE,
  },
  { name: "inbox", schedule: { type: "cron", expression: "0 */4 * * *", timezone }, runMs: MINUTE },
  { name: "crawler", schedule: { type: "interval", interval: "3h", jitter: 5 }, runMs: 40 * MINUTE },
  { name: "flaky-sync", schedule: { type: "interval", interval: "1h" }, runMs: MINUTE, fails: true },
];

const clock = new FakeClock("2026-03-08T01:00:00Z");
const random = seededRandom(2026);
const localTime = new Intl.DateTimeFormat("en-GB", {
  timeZone: timezone,
  weekday: "short",
  hour: "2-digit",
  minute: "2-digit",
  timeZoneName: "short",
});

async function live({ name, schedule, runMs, fails = false }, state) {
  validateSchedule(schedule);
  for (;;) {
    const plan = planNextRun({ now: clock.now(), schedule, state, random });
    await clock.sleep(plan.nextRunAt.getTime() - clock.now().getTime());
    const startedAt = clock.now();
    const backoff = state.failure_count > 0 ? `, after ${state.failure_count} failed in a row` : "";
    console.log(`${localTime.format(startedAt)}  ${name.padEnd(14)}  ${plan.source}${backoff}`);
    await clock.sleep(runMs);
    const outcome = { startedAt, completedAt: clock.now(), error: fails ? "no answer" : undefined };
    state = { ...state, ...recordOutcome(state, outcome) };
  }
}

/** Advice that came from outside: every hour, until it expires at 01:15 local. */
const hurry = {
  hint: { interval: "1h", expires_at: "2026-03-08T06:15:00Z", reason: "the inbox is filling up" },
};

console.log(`A night in ${timezone}: at 02:00 the clocks go to 03:00.\n`);
for (const agent of herd) void live(agent, agent.name === "inbox" ? hurry : {});
await clock.advanceTo("2026-03-08T16:00:00Z");
console.log(
  `\nIt is ${localTime.format(clock.now())}. ${clock.monotonic() / 3_600_000} hours took no time at all.`,
);
