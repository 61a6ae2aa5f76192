/**
 * Nine o'clock in three cities, in virtual time, over a weekend in which London's clocks go back. Each schedule has a
 * zone of its own; the fleet's is for those that name none.
 */
import { FakeClock, MemoryStore, nextCronRuns, Scheduler } from "rota";

const clock = new FakeClock("2026-10-22T20:00:00Z");
const expression = "0 9 * * mon-fri";
const office = (name, timezone) => ({
  name,
  schedules: { morning: { type: "cron", expression, timezone } },
  run: () => `good morning, ${name}`,
});

const scheduler = new Scheduler({
  clock,
  store: new MemoryStore(),
  timezone: "America/New_York",
  checkInterval: 60_000, // an hour of virtual time is an hour of passes
  logger: { info() {}, warn: console.warn, error: console.error },
});
scheduler.on("job:finished", ({ job }) => console.log(job.slot, job.summary));
await scheduler.start([
  office("tokyo", "Asia/Tokyo"),
  office("london", "Europe/London"),
  office("new york"), // by the fleet's zone
]);
await clock.advanceTo("2026-10-26T14:00:00Z");
await scheduler.stop();

// The same without a scheduler.
const [next] = nextCronRuns(expression, 1, clock.now(), "Europe/London");
console.log("London is next at", next.toISOString());
