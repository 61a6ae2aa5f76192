import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  parseInterval,
  type Plan,
  planNextRun,
  type RecurringSchedule,
  type ScheduleState,
  validateSchedule,
} from "../../src/index.js";

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

function forEveryPlan(
  check: (plan: Plan, schedule: RecurringSchedule, state: Partial<ScheduleState>) => void,
): void {
  fc.assert(
    fc.property(cases, ({ schedule, state, drawn }) => {
      check(planNextRun({ now: NOW, schedule, state, random: () => drawn }), schedule, state);
    }),
    { numRuns: 5_000 },
  );
}

describe("every plan", () => {
  it("is a valid time, not before now", () => {
    forEveryPlan(({ nextRunAt }) => {
      expect(nextRunAt.getTime()).toBeGreaterThanOrEqual(NOW.getTime());
    });
  });

  it("lies within its limits, unless it is paused or the first run", () => {
    forEveryPlan(({ nextRunAt, source }, { min_interval, max_interval }) => {
      if (source === "paused" || source === "first-run") return;
      const waitMs = nextRunAt.getTime() - NOW.getTime();
      if (min_interval !== undefined) expect(waitMs).toBeGreaterThanOrEqual(parseInterval(min_interval));
      if (max_interval !== undefined) expect(waitMs).toBeLessThanOrEqual(parseInterval(max_interval));
    });
  });

  it("is the end of the pause while there is one, and not otherwise", () => {
    forEveryPlan(({ nextRunAt, source }, _, { paused_until }) => {
      const paused = paused_until != null && Date.parse(paused_until) > NOW.getTime();
      expect(source === "paused").toBe(paused);
      if (paused) expect(nextRunAt).toEqual(new Date(paused_until));
    });
  });

  it("waits no longer than the interval at its longest backoff and jitter, whatever the clocks did", () => {
    forEveryPlan(({ nextRunAt, source }, schedule) => {
      if (source !== "baseline-interval" || schedule.type !== "interval") return;
      const longestMs = parseInterval(schedule.interval) * MAX_BACKOFF * 1.1;
      expect(nextRunAt.getTime() - NOW.getTime()).toBeLessThanOrEqual(longestMs);
    });
  });

  it("owes nothing to a hint that has expired", () => {
    forEveryPlan(({ source }, _, { hint }) => {
      if (hint == null || Date.parse(hint.expires_at) <= NOW.getTime()) expect(source).not.toMatch(/^ai-/);
    });
  });
});
