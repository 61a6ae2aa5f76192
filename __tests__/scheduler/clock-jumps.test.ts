/** The wall clock is set forward and back, and the process stands still: what runs then, and how often. */
import { describe, expect, it } from "vitest";
import { type AgentSchedule, type JobRecord, MemoryStore } from "../../src/index.js";
import { agent, cron, every, gate, once, scene, type Scene, type SceneOptions } from "./scene.js";

const YEARS = 10 * 365 * 86_400_000;
const HOUR = 3_600_000;
const JUMPS: [string, number][] = [
  ["+1 s", 1000],
  ["-1 s", -1000],
  ["+1 h", HOUR],
  ["-1 h", -HOUR],
  ["+25 h", 25 * HOUR],
  ["-25 h", -25 * HOUR],
  ["+10 years", YEARS],
  ["-10 years", -YEARS],
];
const CHECK_MS = 1000;

interface Seen {
  readonly startMs: number[];
  readonly slots: JobRecord[];
}

/** A scheduler of `x` whose jobs are noted with when they start on the clock that does not jump. */
async function started(x: AgentSchedule, options: SceneOptions = {}): Promise<Scene & Seen> {
  const startMs: number[] = [];
  const stage: Scene = scene({
    ...options,
    work: (info) => {
      startMs.push(stage.clock.monotonic());
      return options.work?.(info);
    },
  });
  await stage.scheduler.start([agent("a", { x })]);
  return { ...stage, startMs, slots: stage.jobs };
}

const slotsOf = (jobs: readonly JobRecord[]): string[] => jobs.map(({ slot }) => slot ?? "none");
const catchUps = (jobs: readonly JobRecord[]): JobRecord[] =>
  jobs.filter(({ source }) => source === "catch-up");
/** The longest time between two starts after `fromMs`, up to `toMs`. */
function longestSilence(startMs: readonly number[], fromMs: number, toMs: number): number {
  const times = [...startMs.filter((ms) => ms >= fromMs), toMs];
  return Math.max(...times.map((ms, i) => ms - (times[i - 1] ?? fromMs)));
}

describe.each(JUMPS)("a clock that jumps %s", (_, jumpMs) => {
  it("neither silences an interval nor makes it run in a burst", async () => {
    const { clock, startMs, jobs } = await started(every("5m"));
    await clock.advance("7m");
    clock.jump(jumpMs);
    const before = startMs.length;
    const jumpedMs = clock.monotonic();
    await clock.advance("21m");
    expect(longestSilence(startMs, jumpedMs, clock.monotonic())).toBeLessThanOrEqual(300_000 + 2 * CHECK_MS);
    expect(startMs.length - before).toBeGreaterThanOrEqual(4);
    expect(startMs.length - before).toBeLessThanOrEqual(5);
    expect(catchUps(jobs).length).toBeLessThanOrEqual(1);
    expect(new Set(slotsOf(jobs)).size).toBe(jobs.length);
  });

  it("under a running job of an interval changes nothing but the time of day", async () => {
    const { clock, startMs }: Scene & Seen = await started(every("5m"), { work: () => clock.sleep("1m") });
    await clock.advance("30s");
    clock.jump(jumpMs);
    await clock.advance("12m");
    expect(startMs).toEqual([0, 6 * 60_000, 12 * 60_000]);
  });

  it("makes a cron schedule of every five minutes run on its grid, with at most one late slot", async () => {
    const { clock, jobs, startMs } = await started(cron("*/5 * * * *"));
    await clock.advance("7m");
    clock.jump(jumpMs);
    const before = jobs.length;
    const jumpedMs = clock.monotonic();
    await clock.advance("50m");
    const after = jobs.slice(before);
    expect(after.filter(({ slot }) => Date.parse(slot ?? "") % 300_000 !== 0)).toEqual([]);
    expect(after.filter(({ slot, started_at }) => slot !== started_at).length).toBeLessThanOrEqual(1);
    expect(new Set(slotsOf(jobs)).size).toBe(jobs.length);
    expect(longestSilence(startMs, jumpedMs, clock.monotonic())).toBeLessThanOrEqual(300_000 + 2 * CHECK_MS);
  });

  it("runs a `once` at most one time", async () => {
    const { clock, jobs, state } = await started(once("2026-03-01T00:10:00Z"));
    await clock.advance("7m");
    clock.jump(jumpMs);
    await clock.advance("30m");
    const { missed_count } = await state("a", "x");
    expect(jobs.length + (missed_count ?? 0)).toBe(jumpMs <= -HOUR ? 0 : 1);
  });

  it("does not repeat a `once` that has run", async () => {
    const { clock, jobs } = await started(once("2026-03-01T00:05:00Z"));
    await clock.advance("7m");
    clock.jump(jumpMs);
    await clock.advance("90m");
    expect(jobs).toHaveLength(1);
  });
});

describe("a clock that is set back", () => {
  it("by less than an hour repeats no slot of an hourly cron schedule, not even after a restart", async () => {
    const stage = await started(cron("0 * * * *"));
    await stage.clock.advance("65m");
    stage.clock.jump("-10m");
    await stage.clock.advance("2s");
    await stage.scheduler.stop();
    const after = stage.again();
    await after.scheduler.start([agent("a", { x: cron("0 * * * *") })]);
    await after.clock.advance("70m");
    expect([...slotsOf(stage.jobs), ...slotsOf(after.jobs)]).toEqual([
      "2026-03-01T01:00:00.000Z",
      "2026-03-01T02:00:00.000Z",
    ]);
  });

  it("by a second while a cron job runs does not repeat its slot", async () => {
    const { clock, jobs }: Scene & Seen = await started(cron("* * * * *"), { work: () => clock.sleep(500) });
    await clock.advance(60_200);
    clock.jump(-1000);
    await clock.advance("59s");
    expect(slotsOf(jobs)).toEqual(["2026-03-01T00:01:00.000Z"]);
  });

  it("by more than a period plans cron schedules from the new time at once", async () => {
    const { clock, plan } = await started(cron("0 * * * *"));
    await clock.advance("65m");
    clock.jump("-25h");
    await clock.advance("2s");
    expect(await plan("a", "x")).toBe("2026-02-28 01:00 baseline-cron");
  });

  it("by an hour repeats no slot of a daily cron schedule", async () => {
    const { clock, plan, jobs } = await started(cron("30 0 * * *"));
    await clock.advance("31m");
    clock.jump("-1h");
    await clock.advance("2h");
    expect(jobs).toHaveLength(1);
    expect(await plan("a", "x")).toBe("2026-03-02 00:30 baseline-cron");
  });

  it("still runs a slot that waits for capacity", async () => {
    const stage: Scene = scene({
      work: ({ scheduleName }) => (scheduleName === "long" ? stage.clock.sleep("10m") : undefined),
    });
    await stage.scheduler.start([agent("a", { long: every("10d"), x: every("5m") })]);
    await stage.clock.advance("2m");
    stage.clock.jump("-1h");
    await stage.clock.advance("9m");
    expect(stage.runs).toHaveLength(2);
  });

  it("right after it was set forward, between two passes, does not silence a schedule planned in between", async () => {
    const store = new (class extends MemoryStore {
      override finishJobs(
        ...args: Parameters<MemoryStore["finishJobs"]>
      ): ReturnType<MemoryStore["finishJobs"]> {
        stage.clock.jump("1h");
        const finishing = super.finishJobs(...args);
        stage.clock.jump("-1h");
        return finishing;
      }
    })();
    const stage: Scene = scene({ store });
    await stage.scheduler.start([agent("a", { x: cron("*/5 * * * *") })]);
    await stage.clock.advance("11m");
    expect(stage.runs).toHaveLength(2);
  });

  it("is logged once", async () => {
    const { clock, warnings } = await started(every("5m"));
    await clock.advance("1m");
    clock.jump("-1h");
    await clock.advance("1m");
    expect(warnings).toEqual([expect.stringContaining("3600000 ms")]);
  });
});

describe.each([3, 30, 120])("a process that stands still for %i s", (seconds) => {
  it("runs every schedule at most one time late, no slot twice, and then in time", async () => {
    const stage = scene();
    const schedules = { i: every("10s"), c: cron("*/10 * * * * *"), o: once("2026-03-01T00:00:31Z") };
    await stage.scheduler.start([agent("a", schedules, { capacity: 3 })]);
    await stage.clock.advance("30s");
    // Nothing wakes while the wall clock goes on.
    stage.clock.jump(seconds * 1000);
    const before = stage.jobs.length;
    await stage.clock.advance("40s");
    const of = (name: string): JobRecord[] => stage.jobs.filter(({ schedule }) => schedule === name);
    expect(new Set(stage.jobs.map(({ schedule, slot }) => `${schedule} ${slot}`)).size).toBe(
      stage.jobs.length,
    );
    for (const name of ["i", "c"]) {
      expect(catchUps(of(name)).length).toBeLessThanOrEqual(1);
      const late = of(name).filter(({ slot, started_at }) => slot !== started_at);
      expect(late.length).toBeLessThanOrEqual(1);
      expect(of(name).length).toBeGreaterThanOrEqual(7);
    }
    expect(stage.jobs.length).toBeGreaterThan(before);
    const { missed_count } = await stage.state("a", "o");
    expect(of("o").length + (missed_count ?? 0)).toBe(1);
  });

  it("in the middle of a pass starts nothing twice", async () => {
    const door = gate();
    let isShut = false;
    const stage: Scene = scene({ work: () => (isShut ? door.pass() : undefined) });
    await stage.scheduler.start([agent("a", { x: every("10s") })]);
    await stage.clock.advance("5s");
    isShut = true;
    await stage.clock.advance("5s");
    await door.reached;
    await stage.clock.advance(seconds * 1000);
    expect(stage.jobs).toHaveLength(2);
    isShut = false;
    door.open();
    await stage.clock.advance("10s");
    expect(stage.jobs).toHaveLength(3);
    expect(new Set(slotsOf(stage.jobs)).size).toBe(3);
    expect(stage.ended.map(({ status }) => status)).toEqual(["completed", "completed", "completed"]);
  });
});
