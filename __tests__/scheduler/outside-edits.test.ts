/** People edit state.yaml while the scheduler runs: each edit counts from the next pass on. */
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { type AgentSchedule, FakeClock, FileStore } from "../../src/index.js";
import { stateDirectory } from "../state/temporary-directory.js";
import { agent, cron, every, scene, type Scene, type SceneOptions, START } from "./scene.js";

interface Edited extends Scene {
  /** Changes the text of the file, then lets one check pass. */
  edit(change: (text: string) => string): Promise<void>;
  /** Lets time pass, and the disk after it. */
  pass(duration: string): Promise<void>;
  readonly path: string;
}

/** `x` has run at 00:00, and the scheduler sleeps. */
async function edited(x: AgentSchedule = every("1h"), work?: SceneOptions["work"]): Promise<Edited> {
  const stateDir = stateDirectory();
  const clock = new FakeClock(START);
  const store = new FileStore({ stateDir });
  const stage = scene({ store, clock, ...(work === undefined ? {} : { work }) });
  const path = join(stateDir, "state.yaml");
  // Whoever sleeps on the clock waits for it and for nothing else: the loop, once its pass is over.
  const settled = (): Promise<void> =>
    vi.waitFor(() => expect(clock.sleeping).toBeGreaterThan(0), { timeout: 20_000, interval: 1 });
  await stage.scheduler.start([agent("a", { x })]);
  await vi.waitFor(() => expect(existsSync(path)).toBe(true));
  await settled();
  const pass = async (duration: string): Promise<void> => {
    await settled();
    await clock.advance(duration);
    // The last pass may have waited for the disk while time passed, and then has to look again at once.
    await settled();
    await clock.advance(0);
  };
  const edit = async (change: (text: string) => string): Promise<void> => {
    await settled();
    const before = readFileSync(path, "utf8");
    const after = change(before);
    expect(after).not.toBe(before);
    writeFileSync(path, after);
    await clock.advance("1s");
  };
  return { ...stage, edit, pass, path };
}

const expectEnded = (stage: Scene, count: number): Promise<void> =>
  vi.waitFor(() => expect(stage.ended).toHaveLength(count), { timeout: 20_000, interval: 1 });
const expectPlan = (stage: Scene, plan: string): Promise<void> =>
  vi.waitFor(async () => expect(await stage.plan("a", "x")).toBe(plan), { timeout: 20_000, interval: 1 });

/** Sets a key of the one schedule in the file. */
const set =
  (key: string, value: string) =>
  (text: string): string =>
    new RegExp(`^ +${key}:`, "m").test(text)
      ? text.replace(new RegExp(`^( +)${key}:.*$`, "m"), `$1${key}: ${value}`)
      : text.replace(/^( +)status: (.*)$/m, `$1status: $2\n$1${key}: ${value}`);

describe("an edit of the state file", () => {
  it("disables a schedule", async () => {
    const stage = await edited();
    await expectEnded(stage, 1);
    await stage.edit(set("status", "disabled"));
    await expectPlan(stage, "never none");
    await stage.pass("3h");
    expect(stage.jobs).toHaveLength(1);
  });

  it("enables it again, without a slot from before", async () => {
    const stage = await edited();
    await expectEnded(stage, 1);
    await stage.edit(set("status", "disabled"));
    await expectPlan(stage, "never none");
    await stage.pass("2h");
    await stage.edit(set("status", "idle"));
    await expectPlan(stage, "03:00:02 baseline-interval");
  });

  it("disables a schedule whose slot waits, and drops the slot", async () => {
    const stage: Edited = await edited(every("1h"), ({ scheduleName }) =>
      scheduleName === "long" ? stage.clock.sleep("3h") : undefined,
    );
    await expectEnded(stage, 1);
    stage.scheduler.setAgents([agent("a", { x: every("1h"), long: every("1d") })]);
    await vi.waitFor(() => expect(stage.jobs).toHaveLength(2));
    await stage.pass("1h");
    await vi.waitFor(() => expect(stage.events).toContain("skipped a/x at_capacity 01:00"));
    await stage.edit((text) => text.replace(/^( +x:\n +status: )idle$/m, "$1disabled"));
    await expectPlan(stage, "never none");
  });

  it("pauses a schedule until a time, at which it is planned again", async () => {
    const stage = await edited();
    await expectEnded(stage, 1);
    await stage.edit(set("paused_until", "2026-03-01T04:00:00Z"));
    await expectPlan(stage, "04:00 paused");
    await stage.edit(set("paused_until", "null"));
    await expectPlan(stage, "01:00 baseline-interval");
  });

  it("adds one extra run by a hint", async () => {
    const stage = await edited();
    await expectEnded(stage, 1);
    await stage.edit(
      set("hint", '{ next_run_at: "2026-03-01T00:00:00Z", expires_at: "2026-03-01T09:00:00Z" }'),
    );
    await expectEnded(stage, 2);
    expect(stage.ended[1]).toMatchObject({ source: "ai-oneshot", started_at: "2026-03-01T00:00:01.000Z" });
    await expectPlan(stage, "01:00:01 baseline-interval");
    expect((await stage.state("a", "x")).hint ?? null).toBeNull();
  });

  it("shortens the interval by a hint", async () => {
    const stage = await edited();
    await expectEnded(stage, 1);
    await stage.edit(set("hint", '{ interval: 1m, expires_at: "2026-03-01T09:00:00Z" }'));
    await expectPlan(stage, "00:01 ai-interval");
  });

  it("with an invalid hint is logged, and the schedule runs as before", async () => {
    const stage = await edited();
    await expectEnded(stage, 1);
    await stage.edit(set("hint", '{ interval: soon, expires_at: "2026-03-01T09:00:00Z" }'));
    await vi.waitFor(() =>
      expect(stage.warnings).toEqual([
        expect.stringContaining("FakeClock"),
        expect.stringContaining('"soon"'),
      ]),
    );
    await expectPlan(stage, "01:00 baseline-interval");
  });

  it.each([
    ["an interval, now", every("1h"), "2026-03-01T00:00:00Z"],
    ["an interval, last year", every("1h"), "2025-01-01T00:00:00Z"],
    ["an interval that drops what it missed", every("1h", { missed: "skip" }), "2025-01-01T00:00:00Z"],
    ["cron, last year", cron("0 12 * * *"), "2025-01-01T00:00:00Z"],
  ])("runs a schedule now, however old the time it names: %s", async (_, x, time) => {
    const stage = await edited(x);
    const before = x.type === "interval" ? 1 : 0;
    await expectEnded(stage, before);
    await stage.edit(set("next_run_at", time));
    await expectEnded(stage, before + 1);
    expect(stage.ended.at(-1)).toMatchObject({
      trigger: "manual",
      source: "manual",
      started_at: "2026-03-01T00:00:01.000Z",
    });
    expect(await stage.store.jobs.get(stage.ended.at(-1)?.id ?? "")).toMatchObject({ source: "manual" });
    expect((await stage.state("a", "x")).missed_count ?? 0).toBe(0);
  });

  it("that sets a future time is kept, also after new agents and a restart", async () => {
    const stage = await edited(cron("0 12 * * *"));
    await stage.edit(set("next_run_at", "2026-03-01T05:00:00Z"));
    await expectPlan(stage, "05:00 manual");
    stage.scheduler.setAgents([agent("a", { x: cron("0 12 * * *") }), agent("b", { x: every("1h") })]);
    await expectEnded(stage, 1);
    await expectPlan(stage, "05:00 manual");
    await stage.scheduler.stop();
    const after = stage.again({ checkInterval: 3_600_000 });
    await after.scheduler.start([agent("a", { x: cron("0 12 * * *") })]);
    await expectPlan(after, "05:00 manual");
  });

  it("that removes the next run makes the schedule be planned again", async () => {
    const stage = await edited();
    await expectEnded(stage, 1);
    await stage.edit((text) => text.replace(/^ +next_run_(at|source):.*\n/gm, ""));
    await expectPlan(stage, "01:00 baseline-interval");
  });

  it("that deletes the whole file resets nothing: what was disabled stays so, and the file comes back", async () => {
    const stage = await edited();
    await expectEnded(stage, 1);
    await stage.edit(set("status", "disabled"));
    await expectPlan(stage, "never none");
    rmSync(stage.path);
    await stage.pass("1s");
    await vi.waitFor(() => expect(readFileSync(stage.path, "utf8")).toContain("status: disabled"), {
      timeout: 20_000,
    });
    await stage.pass("2h");
    expect(stage.ended).toHaveLength(1);
    expect(stage.jobs).toHaveLength(1);
  });

  it("that empties the file in place, or cuts it at an entry, does not run what was disabled", async () => {
    const stage = await edited();
    await expectEnded(stage, 1);
    await stage.edit(set("status", "disabled"));
    await expectPlan(stage, "never none");
    for (const end of ["", "agents:\n", "schedules:\n", "x:\n"]) {
      const text = readFileSync(stage.path, "utf8");
      writeFileSync(stage.path, text.slice(0, end === "" ? 0 : text.indexOf(end) + end.length));
      await stage.pass("2h");
      await vi.waitFor(() => expect(readFileSync(stage.path, "utf8")).toBe(text), { timeout: 20_000 });
    }
    await stage.pass("2h");
    expect(stage.jobs).toHaveLength(1);
  });

  it("of garbage in one schedule affects no other schedule", async () => {
    const stage = await edited();
    await expectEnded(stage, 1);
    await stage.edit(
      (text) =>
        `${text.trimEnd()}\n  b:\n    schedules:\n      bad:\n        status: sleepy\n        next_run_at: soon\n`,
    );
    await stage.pass("1h");
    await expectEnded(stage, 2);
    expect(stage.jobs[1]).toMatchObject({ agent: "a", source: "baseline-interval" });
  });

  it("while the job runs survives its completion: disabled stays disabled", async () => {
    const clock = { sleep: (): Promise<void> => Promise.resolve() };
    const stage = await edited(every("1h"), () => clock.sleep());
    await expectEnded(stage, 1);
    clock.sleep = () => stage.clock.sleep("10m");
    await stage.scheduler.trigger("a", "x");
    await stage.edit(set("status", "disabled"));
    await stage.pass("10m");
    await expectEnded(stage, 2);
    expect(await stage.state("a", "x")).toMatchObject({ status: "disabled", next_run_at: null });
  });
});
