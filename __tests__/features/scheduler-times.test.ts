/** What Rota promises about the times of jobs, in a running scheduler: one test a promise. */
import { describe, expect, it } from "vitest";
import { FakeClock, MemoryStore } from "../../src/index.js";
import { agent, cron, every, scene, type Scene, type SceneOptions, START } from "../scheduler/scene.js";

/** A scheduler of `a/x` whose first job takes `seconds`. */
async function started(
  schedule: ReturnType<typeof every>,
  seconds = 0,
  options: SceneOptions = {},
): Promise<Scene> {
  const clock = new FakeClock(START);
  const stage = scene({ clock, work: () => clock.sleep(seconds * 1000), ...options });
  await stage.scheduler.start([agent("a", { x: schedule })]);
  return stage;
}

const times = ({ runs }: Scene): string[] => runs.map((run) => run.split(" ")[0] ?? "");

describe("a new interval schedule", () => {
  it("runs at the first check", async () => {
    const stage = await started(every("1h"));
    await stage.settle();
    expect(times(stage)).toEqual(["00:00"]);
  });

  it("counts from completion: a job of 10 minutes every 5 minutes starts again after 15", async () => {
    const stage = await started(every("5m"), 600);
    await stage.clock.advance("15m");
    expect(times(stage)).toEqual(["00:00", "00:15"]);
  });

  it.each([
    [1, "00:00:15"],
    [20, "00:00:35"],
    [30, "00:00:45"],
  ])("anchored to the start, with a job of %i s every 15 s, starts again at %s", async (seconds, second) => {
    const stage = await started(every("15s", { anchor: "start" }), seconds);
    await stage.clock.advance("50s");
    expect(times(stage).slice(0, 2)).toEqual(["00:00", second]);
  });
});

describe("an interval that ran two hours ago", () => {
  it("runs exactly one time at once, and counts from there", async () => {
    const store = new MemoryStore();
    const at = "2026-02-28T22:00:00.000Z";
    await store.update({ agent: "a", schedule: "x" }, { last_run_at: at, last_completed_at: at });
    const stage = await started(every("5m"), 0, { store });
    await stage.clock.advance("11m");
    expect(times(stage)).toEqual(["00:00", "00:05", "00:10"]);
  });

  it("does not run early after a restart: its time is kept", async () => {
    const before = await started(every("1h"));
    await before.clock.advance("20m");
    await before.scheduler.stop();
    const after = before.again();
    await after.scheduler.start([agent("a", { x: every("1h") })]);
    await after.clock.advance("39m");
    expect(after.runs).toEqual([]);
    await after.clock.advance("1m");
    expect(times(after)).toEqual(["01:00"]);
  });
});

describe("a schedule that is changed while the scheduler runs", () => {
  it("from cron to an interval runs an interval after the change, and stays an interval", async () => {
    const clock = new FakeClock(START);
    const stage = scene({ clock });
    await stage.scheduler.start([agent("a", { x: cron("0 * * * *") })]);
    await clock.advance("70m");
    stage.scheduler.setAgents([agent("a", { x: every("5m") })]);
    await clock.advance("11m");
    expect(times(stage)).toEqual(["01:00", "01:15", "01:20"]);
  });

  it("to one that is wrong is refused at once, and stays as it was", async () => {
    const clock = new FakeClock(START);
    const stage = scene({ clock });
    await stage.scheduler.start([agent("a", { x: every("5m") })]);
    await clock.advance("1m");
    expect(() => stage.scheduler.setAgents([agent("a", { x: cron("banana") })])).toThrow("banana");
    await clock.advance("5m");
    expect(times(stage)).toEqual(["00:00", "00:05"]);
    expect(stage.troubles).toEqual([]);
  });
});

describe("a job of 90 s on a store whose leases last 30 s", () => {
  it("keeps its claim: one run, which completes", async () => {
    const store = new MemoryStore({ leaseMs: "30s" });
    const stage = await started(every("1h"), 90, { store });
    await stage.clock.advance("5m");
    expect(stage.runs).toHaveLength(1);
    expect(stage.ended).toMatchObject([{ status: "completed", duration_ms: 90_000 }]);
  });
});

describe("the record of a job", () => {
  it("is running with its attempt, trigger, source and slot at first; then it has the end and the duration", async () => {
    const stage = await started(every("1h"), 4);
    await stage.clock.advance("1s");
    const during = { status: "running", attempt: 1, trigger: "interval", source: "first-run", slot: START };
    const [id = ""] = stage.jobs.map((job) => job.id);
    expect(await stage.scheduler.jobs.get(id)).toMatchObject({
      ...during,
      duration_ms: null,
      finished_at: null,
    });
    await stage.clock.advance("3s");
    expect(await stage.scheduler.jobs.get(id)).toMatchObject({
      ...during,
      status: "completed",
      duration_ms: 4_000,
      finished_at: "2026-03-01T00:00:04.000Z",
    });
  });
});
