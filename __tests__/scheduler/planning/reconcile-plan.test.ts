/** Which plans found in the state stay, and which are made anew. */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { AgentSchedule, PlanSource, Schedule, ScheduleState } from "../../../src/index.js";
import { adoptPlan } from "../../../src/scheduler/planning/reconcile-plan.js";
import { PLAN_SOURCES } from "../../../src/state/schedule-state.js";
import { cron, every, once, shortTime, START } from "../scene.js";

const NOW = new Date(START);
const at = (minutes: number): string => new Date(NOW.getTime() + minutes * 60_000).toISOString();

/** The plan after adoption, as "00:30 baseline-interval"; "kept" when it stays. */
function adopted(schedule: Schedule, state: Partial<ScheduleState>): string {
  const conclusion = adoptPlan({ now: NOW, schedule, state, random: () => 0.5 });
  if (conclusion === undefined) return "kept";
  return `${shortTime(conclusion.plan?.nextRunAt)} ${conclusion.plan?.source ?? "none"}`;
}

const planned = (
  minutes: number,
  next_run_source: PlanSource,
  more: Partial<ScheduleState> = {},
): Partial<ScheduleState> => ({
  last_started_at: at(-30),
  last_completed_at: at(-30),
  next_run_at: at(minutes),
  next_run_source,
  ...more,
});

describe("a plan that is found", () => {
  it.each<[string, AgentSchedule, Partial<ScheduleState>]>([
    ["the interval's own time", every("1h"), planned(30, "baseline-interval")],
    ["a time within its jitter", every("1h", { jitter: 10 }), planned(34, "baseline-interval")],
    ["a cron time to come", cron("0 * * * *"), planned(60, "baseline-cron")],
    ["a cron time that is due", cron("0 * * * *"), planned(-180, "baseline-cron")],
    ["an interval that is due", every("5m"), planned(-10, "baseline-interval")],
    ["a `once` to come", once(at(90)), planned(90, "once")],
    ["a `once` that is due", once(at(-5)), planned(-5, "once")],
    ["what was put off by a limit", every("5m", { min_interval: "40m" }), planned(10, "clamped-min")],
    ["a pause", every("5m"), planned(600, "paused", { paused_until: at(600) })],
    ["an order for a time to come", cron("0 * * * *"), planned(7, "manual")],
    ["an order whose time has come", every("1h"), planned(-7, "manual")],
    ["what a crash left due", cron("0 * * * *"), planned(-7, "catch-up")],
  ])("stays where it fits: %s", (_, schedule, state) => {
    expect(adopted(schedule, state)).toBe("kept");
  });

  it.each<[string, AgentSchedule, Partial<ScheduleState>, string]>([
    ["of a different interval", every("2h"), planned(30, "baseline-interval"), "01:30 baseline-interval"],
    [
      "beyond its jitter",
      every("1h", { jitter: 10 }),
      planned(37, "baseline-interval"),
      "00:33 baseline-interval",
    ],
    ["of a different type, to come", every("1h"), planned(60, "baseline-cron"), "00:30 baseline-interval"],
    ["of a different type, due", cron("0 * * * *"), planned(-10, "baseline-interval"), "01:00 baseline-cron"],
    ["due off the grid", cron("0 * * * *"), planned(-10, "baseline-cron"), "01:00 baseline-cron"],
    ["of a different `once`", once(at(20)), planned(-10, "once"), "00:20 once"],
    ["of a schedule without times", { type: "webhook" }, planned(-10, "baseline-cron"), "never none"],
    ["the end of a pause that is over", every("1h"), planned(-10, "paused"), "00:30 baseline-interval"],
    [
      "of one that is disabled",
      every("1h"),
      planned(30, "baseline-interval", { status: "disabled" }),
      "never none",
    ],
    ["none at all", every("1h"), {}, "00:00 first-run"],
  ])("is made anew where it does not: %s", (_, schedule, state, expected) => {
    expect(adopted(schedule, state)).toBe(expected);
  });

  it("is made anew when a hint says otherwise, and the hint that cannot be read is dropped", () => {
    const hint = { interval: "10m", expires_at: at(60) };
    expect(adopted(every("1h"), planned(30, "baseline-interval", { hint }))).toBe("00:10 ai-interval");
    const state = planned(30, "baseline-interval", { hint: { ...hint, interval: "soon" } });
    expect(adopted(every("1h"), state)).toBe("00:30 baseline-interval");
    expect(adoptPlan({ now: NOW, schedule: every("1h"), state, random: () => 0 })?.patch.hint).toBeNull();
  });
});

const minutes = fc.integer({ min: -2000, max: 2000 });
const time = minutes.map(at);
const schedule: fc.Arbitrary<Schedule> = fc.oneof(
  fc.record({
    type: fc.constant("interval" as const),
    interval: fc.constantFrom("1m", "5m", "1h", "1d"),
    jitter: fc.constantFrom(0, 5, 10),
    anchor: fc.constantFrom("start" as const, "completion" as const),
  }),
  fc.constantFrom("* * * * *", "0 * * * *", "30 6 * * *").map((text) => cron(text)),
  fc
    .tuple(fc.constantFrom("1m", "10m"), fc.constantFrom("30m", "5h"))
    .map(([min_interval, max_interval]) => every("20m", { min_interval, max_interval })),
  time.map((text) => once(text)),
  fc.constantFrom<Schedule>({ type: "webhook" }, { type: "chat" }),
);
const hint = fc.record(
  { interval: fc.constantFrom("1m", "2h", "soon"), next_run_at: time, expires_at: time },
  { requiredKeys: ["expires_at"] },
);
const state: fc.Arbitrary<Partial<ScheduleState>> = fc.record(
  {
    status: fc.constantFrom("idle" as const, "disabled" as const),
    last_started_at: time,
    last_completed_at: time,
    last_missed_at: time,
    next_run_at: time,
    next_run_source: fc.constantFrom(...PLAN_SOURCES),
    failure_count: fc.nat(7),
    paused_until: time,
    hint,
  },
  { requiredKeys: [] },
);
const draw = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

describe("adopting a plan", () => {
  it("keeps a hinted run that jitter put before the baseline", () => {
    const daily = every("1d", { jitter: 10 });
    const hinted = { hint: { next_run_at: at(800), expires_at: at(900) }, last_completed_at: at(-720) };
    const late = adoptPlan({ now: NOW, schedule: daily, state: hinted, random: () => 0.9 });
    expect(late?.plan).toMatchObject({ source: "ai-oneshot", nextRunAt: new Date(at(800)) });
    const after = { ...hinted, ...late?.patch };
    expect(adoptPlan({ now: NOW, schedule: daily, state: after, random: () => 0 })).toBeUndefined();
  });

  it("moves a hinted run whose hint has moved, also where jitter may put it before the baseline", () => {
    const daily = every("1d", { jitter: 10 });
    const moved = { next_run_at: at(800), expires_at: at(900) };
    const found = planned(790, "ai-oneshot", { hint: moved, last_completed_at: at(-720) });
    const { plan } = adoptPlan({ now: NOW, schedule: daily, state: found, random: () => 0.9 }) ?? {};
    expect(plan?.nextRunAt).toEqual(new Date(at(800)));
  });

  it("stays when only its jitter decides whether its time has passed", () => {
    const defined = { type: "interval", interval: "1d", jitter: 5 } as const;
    const found = {
      last_completed_at: "2026-02-27T23:59:00.000Z",
      next_run_at: "2026-03-02T00:00:00.001Z",
      next_run_source: "baseline-interval",
    } as const;
    expect(adopted(defined, found)).toBe("kept");
  });

  it("a second time changes nothing", () => {
    fc.assert(
      fc.property(schedule, state, draw, draw, (defined, found, first, second) => {
        const adoption = adoptPlan({ now: NOW, schedule: defined, state: found, random: () => first });
        const after = { ...found, ...adoption?.patch };
        const twice = adoptPlan({ now: NOW, schedule: defined, state: after, random: () => second });
        expect({ ...after, ...twice?.patch }).toEqual(after);
      }),
      { numRuns: 3000 },
    );
  });

  it("never plans into the past, except the one time of a `once`", () => {
    fc.assert(
      fc.property(schedule, state, draw, (defined, found, random) => {
        const plan = adoptPlan({ now: NOW, schedule: defined, state: found, random: () => random })?.plan;
        const earliest = plan?.source === "once" ? -Infinity : NOW.getTime();
        expect(plan?.nextRunAt.getTime() ?? Infinity).toBeGreaterThanOrEqual(earliest);
      }),
      { numRuns: 3000 },
    );
  });

  it("plans for right now only a first run, a one-shot, or what ends or comes due at this instant", () => {
    fc.assert(
      fc.property(schedule, state, draw, (defined, found, random) => {
        const plan = adoptPlan({ now: NOW, schedule: defined, state: found, random: () => random })?.plan;
        const isNow = plan?.nextRunAt.getTime() === NOW.getTime();
        const dueAtOnce: (PlanSource | undefined)[] = ["first-run", "ai-oneshot", "once"];
        // A wait that is over at this very millisecond.
        const dueAtThisInstant: (PlanSource | undefined)[] = ["baseline-interval", "ai-interval"];
        expect(!isNow || [...dueAtOnce, ...dueAtThisInstant].includes(plan.source)).toBe(true);
      }),
      { numRuns: 3000 },
    );
  });

  it("never moves a slot of the schedule that is due", () => {
    const recurring = fc.constantFrom(
      [every("5m"), "baseline-interval", -7],
      [every("5m"), "first-run", -7],
      [cron("*/5 * * * *"), "baseline-cron", -10],
      [cron("0 * * * *"), "baseline-cron", -120],
      [once(at(-3)), "once", -3],
    ) satisfies fc.Arbitrary<[AgentSchedule, PlanSource, number]>;
    fc.assert(
      fc.property(recurring, state, draw, ([defined, next_run_source, due], found, random) => {
        const dueState = { ...found, status: "idle" as const, next_run_at: at(due), next_run_source };
        const conclusion = adoptPlan({ now: NOW, schedule: defined, state: dueState, random: () => random });
        expect(conclusion).toBeUndefined();
      }),
    );
  });

  it("keeps jitter that was drawn before", () => {
    fc.assert(
      fc.property(draw, draw, fc.nat(50), (first, second, laterMinutes) => {
        const defined = every("1h", { jitter: 10 });
        const ran = { last_started_at: at(0), last_completed_at: at(0) };
        const plan = adoptPlan({ now: NOW, schedule: defined, state: ran, random: () => first });
        const later = new Date(at(laterMinutes));
        const again = {
          now: later,
          schedule: defined,
          state: { ...ran, ...plan?.patch },
          random: () => second,
        };
        expect(adoptPlan(again)).toBeUndefined();
      }),
    );
  });
});
