import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  parseInterval,
  type Plan,
  planNextRun,
  type RecurringSchedule,
  type ScheduleState,
  validateSchedule,
} from "../../../src/index.js";

const NOW = new Date("2026-03-01T12:00:00Z");
const MAX_BACKOFF = 32;

const intervalText = fc
  .tuple(fc.integer({ min: 1, max: 90 }), fc.constantFrom("s", "m", "h", "d"))
  .map(([n, unit]) => `${n}${unit}`);
const instantText = fc
  .integer({ min: -200 * 86_400_000, max: 200 * 86_400_000 })
  .map((ms) => new Date(NOW.getTime() + ms).toISOString());
const maybe = <Value>(arbitrary: fc.Arbitrary<Value>): fc.Arbitrary<Value | null | undefined> =>
  fc.oneof({ weight: 2, arbitrary }, fc.constant(null), fc.constant(undefined));

const states = fc.record(
  {
    last_run_at: maybe(instantText),
    last_started_at: maybe(instantText),
    last_completed_at: maybe(instantText),
    next_run_at: maybe(instantText),
    next_run_source: maybe(fc.constantFrom("baseline-interval", "ai-interval", "clamped-min", "clamped-max")),
    failure_count: maybe(fc.integer({ min: 0, max: 40 })),
    paused_until: maybe(instantText),
    hint: maybe(
      fc.record({ interval: maybe(intervalText), next_run_at: maybe(instantText), expires_at: instantText }),
    ),
  },
  { requiredKeys: [] },
) as fc.Arbitrary<Partial<ScheduleState>>;

const limits = { min_interval: intervalText, max_interval: intervalText };
const schedules = fc
  .oneof(
    fc.record(
      {
        type: fc.constant("interval" as const),
        interval: intervalText,
        anchor: fc.constantFrom("completion", "start"),
        jitter: fc.integer({ min: 0, max: 10 }),
        ...limits,
      },
      { requiredKeys: ["type", "interval"] },
    ),
    fc.record(
      {
        type: fc.constant("cron" as const),
        expression: fc.constantFrom("*/5 * * * *", "0 9 * * 1-5", "30 2 * * *", "0 0 1 * *"),
        timezone: fc.constantFrom("UTC", "America/New_York", "Pacific/Chatham"),
        ...limits,
      },
      { requiredKeys: ["type", "expression"] },
    ),
  )
  .filter((schedule) => isValid(schedule as RecurringSchedule)) as fc.Arbitrary<RecurringSchedule>;

const cases = fc.record({
  schedule: schedules,
  state: states,
  drawn: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
});

function isValid(schedule: RecurringSchedule): boolean {
  try {
    validateSchedule(schedule);
    return true;
  } catch {
    return false;
  }
}

function expectOfEveryPlan(
  holds: (plan: Plan, schedule: RecurringSchedule, state: Partial<ScheduleState>) => boolean,
): void {
  fc.assert(
    fc.property(cases, ({ schedule, state, drawn }) => {
      const plan = planNextRun({ now: NOW, schedule, state, random: () => drawn });
      expect(holds(plan, schedule, state)).toBe(true);
    }),
    { numRuns: 5_000 },
  );
}

describe("every plan", () => {
  it("is a valid time, not before now", () => {
    expectOfEveryPlan(({ nextRunAt }) => nextRunAt.getTime() >= NOW.getTime());
  });

  it("lies within its limits, unless it is paused, the first run, or was planned before", () => {
    expectOfEveryPlan(({ nextRunAt, source }, { min_interval, max_interval }, { next_run_at }) => {
      const waitMs = nextRunAt.getTime() - NOW.getTime();
      const farEnough = min_interval === undefined || waitMs >= parseInterval(min_interval);
      const nearEnough = max_interval === undefined || waitMs <= parseInterval(max_interval);
      const exempt = source === "paused" || source === "first-run" || next_run_at === nextRunAt.toISOString();
      return exempt || (farEnough && nearEnough);
    });
  });

  it("is the end of the pause while there is one, and not otherwise", () => {
    expectOfEveryPlan(({ nextRunAt, source }, _, { paused_until }) => {
      const endsMs = paused_until == null ? -Infinity : Date.parse(paused_until);
      return endsMs > NOW.getTime()
        ? source === "paused" && nextRunAt.getTime() === endsMs
        : source !== "paused";
    });
  });

  it("waits no longer than the interval at its longest backoff and jitter, whatever the clocks did", () => {
    expectOfEveryPlan(({ nextRunAt, source }, schedule) => {
      if (source !== "baseline-interval" || schedule.type !== "interval") return true;
      return nextRunAt.getTime() - NOW.getTime() <= parseInterval(schedule.interval) * MAX_BACKOFF * 1.1;
    });
  });

  it("owes nothing to a hint that has expired", () => {
    expectOfEveryPlan(({ source }, _, { hint }) => {
      const expired = hint == null || Date.parse(hint.expires_at) <= NOW.getTime();
      return !(expired && source.startsWith("ai-"));
    });
  });
});
