import { describe, expect, it, vi } from "vitest";
import { Scheduler } from "../../../src/index.js";
import { Scene } from "../scene.js";

const PERIOD = ["--from", "2026-02-26T00:00:00Z", "--to", "2026-02-28T12:00:00Z"];
const SLOTS = ["2026-02-26T01:30:00.000Z", "2026-02-27T01:30:00.000Z", "2026-02-28T01:30:00.000Z"];

describe("rota backfill", () => {
  it("lists the slots with --dry-run and changes nothing", async () => {
    const scene = new Scene();
    expect(await scene.run("backfill", "reports/nightly", ...PERIOD, "--dry-run", "--json")).toBe(0);
    expect(scene.json).toEqual({
      agent: "reports",
      schedule: "nightly",
      dry_run: true,
      slots: SLOTS,
      left_out: 0,
    });
    expect(await scene.run("backfill", "reports/nightly")).toBe(0);
    expect(scene.out).toBe("No backfill of reports/nightly is under way.\n");
  });

  it("leaves out a slot with a completed job", async () => {
    const scene = new Scene();
    const [slot = ""] = SLOTS;
    const job = { agent: "reports", schedule: "nightly", trigger: "cron", slot, started_at: slot } as const;
    await scene.job(job, { status: "completed" });
    expect(await scene.run("backfill", "reports/nightly", ...PERIOD, "--dry-run", "--json")).toBe(0);
    expect(scene.json).toMatchObject({ slots: SLOTS.slice(1), left_out: 1 });
  });

  it("is kept in the state file, shown by describe, and cancelled", async () => {
    const scene = new Scene();
    expect(await scene.run("backfill", "reports/nightly", ...PERIOD)).toBe(0);
    expect(scene.err).toContain("3 slots of reports/nightly to run, oldest first. No scheduler is running");
    expect(await scene.run("describe", "reports/nightly")).toBe(0);
    expect(scene.out).toMatch(/Backfill +0 of 3 slots have run/);
    expect(await scene.run("backfill", "reports/nightly", ...PERIOD)).toBe(1);
    expect(scene.err).toContain("A backfill of reports/nightly is under way: 0 of 3 slots have run");
    expect(await scene.run("backfill", "reports/nightly", "--cancel")).toBe(0);
    expect(scene.err).toContain("Cancelled the backfill of reports/nightly: 0 of 3 slots have run.\n");
    expect(await scene.run("backfill", "reports/nightly", "--json")).toBe(0);
    expect(scene.json).toMatchObject({ backfill: null });
  });

  it("is named by list, why and jobs as the reason", async () => {
    const scene = new Scene();
    const [slot = ""] = SLOTS;
    await scene.state("reports/nightly", {
      next_run_at: "2026-03-01T12:01:00Z",
      next_run_source: "manual",
      backfill: { slots: SLOTS, total: 4, at: "2026-03-01T12:01:00Z" },
    });
    await scene.run("list", "reports/nightly", "--json");
    expect(scene.json).toMatchObject([{ why: "backfill of 2026-02-26T01:30Z" }]);
    await scene.run("why", "reports/nightly");
    expect(scene.out).toContain("Backfill: 1 of 4 slots have run; next 2026-02-26T01:30:00+00:00.");
    await scene.job({ schedule: "nightly", trigger: "manual", source: "manual", slot, started_at: slot });
    await scene.job({
      schedule: "nightly",
      trigger: "manual",
      source: "manual",
      slot,
      started_at: "2026-03-01T11:00:00Z",
    });
    await scene.run("jobs");
    expect(scene.lines.slice(1)).toEqual([
      expect.stringContaining("backfill of a past slot"),
      expect.stringContaining("triggered manually"),
    ]);
  });

  it("reaches a running scheduler on the same files, which runs each slot one time", async () => {
    const scene = new Scene();
    const store = scene.store();
    const slots: unknown[] = [];
    const logger = { info: () => {}, warn: () => {}, error: () => {} };
    await using scheduler = new Scheduler({ store, clock: scene.clock, logger });
    const nightly = { type: "cron", expression: "30 2 * * *", timezone: "Europe/Berlin" } as const;
    const run = ({ slot }: { readonly slot: Date | null }): unknown => slots.push(slot?.toISOString());
    await scheduler.start([{ name: "reports", schedules: { nightly }, run }]);
    expect(await scene.run("backfill", "reports/nightly", ...PERIOD)).toBe(0);
    await vi.waitFor(
      async () => {
        await scene.clock.advance("1s");
        expect((await store.read({ agent: "reports", schedule: "nightly" })).backfill).toBeUndefined();
        expect(slots).toHaveLength(3);
      },
      { timeout: 20_000 },
    );
    expect(slots).toEqual(SLOTS);
  });

  it.each([
    ["an interval", ["reports/hourly", ...PERIOD], "Only cron schedules"],
    ["half a period", ["reports/nightly", "--from", "7d"], "both --from and --to"],
    ["too many slots", ["reports/nightly", ...PERIOD, "--limit", "2"], "3 slots to run, the limit is 2"],
    ["a future end", ["reports/nightly", "--from", "7d", "--to", "2027-01-01"], "in the future"],
  ])("refuses %s", async (_, args, says) => {
    const scene = new Scene();
    expect(await scene.run("backfill", ...args)).toBe(2);
    expect(scene.err).toContain(says);
  });
});
