/** A pass that finds nothing to do costs one question, and overlooks nothing. */
import { describe, expect, it } from "vitest";
import { type DueSlots, FakeClock, MemoryStore, type ScheduleKey } from "../../../src/index.js";
import { agent, cron, every, scene, type Scene, type SceneOptions, START } from "../scene.js";

class WatchedStore extends MemoryStore {
  looks = 0;
  renewals = 0;

  override claimDue(limit: number): Promise<DueSlots> {
    this.looks++;
    return super.claimDue(limit);
  }

  override renew(claim: Parameters<MemoryStore["renew"]>[0]): Promise<boolean> {
    this.renewals++;
    return super.renew(claim);
  }

  /** As when somebody else has changed a state, and this store has read it on another occasion than a pass. */
  async changeFromOutside(key: ScheduleKey, next_run_at: string): Promise<void> {
    await this.update(key, { next_run_at });
    this.noteOutsideChanges([{ ...key, keys: ["next_run_at"] }]);
  }
}

const hourly = agent("a", { x: cron("0 * * * *") });

/** Half an hour before the only schedule is due. */
async function idle<Store extends MemoryStore = WatchedStore>(
  options: Omit<SceneOptions, "store"> & { readonly store?: Store } = {},
): Promise<Scene & { readonly store: Store }> {
  const store = options.store ?? (new WatchedStore() as unknown as Store);
  const stage = scene({ ...options, store });
  await stage.scheduler.start([hourly]);
  await stage.clock.advance("30m");
  return { ...stage, store };
}

describe("an idle pass", () => {
  it("calls the store once", async () => {
    // With `onTick` the clock leaves out no pass.
    const { store, clock, scheduler } = await idle({ onTick: () => {} });
    const { looks } = store;
    const { checkCount } = scheduler.getState();
    await clock.advance("20m");
    expect(scheduler.getState().checkCount).toBe(checkCount + 1_200);
    expect(store.looks).toBe(looks + 1_200);
  });

  it("ends when a slot comes due", async () => {
    const { clock, runs } = await idle({ checkInterval: 60 * 60_000 });
    await clock.advance("30m");
    expect(runs).toEqual(["01:00 a/x"]);
  });

  it("is reported as any other pass", async () => {
    const ticks: number[] = [];
    const { clock } = await idle({ onTick: ({ checkCount }) => void ticks.push(checkCount) });
    const before = ticks.length;
    await clock.advance("10s");
    expect(ticks).toHaveLength(before + 10);
  });

  it("applies new agents", async () => {
    const { clock, scheduler, runs } = await idle();
    scheduler.setAgents([hourly, agent("b", { y: every("1h") })]);
    await clock.advance(0);
    expect(runs).toEqual(["00:30 b/y"]);
  });

  it("notices that the clock was set back", async () => {
    const { clock, plan } = await idle();
    clock.jump("-25h");
    await clock.advance("2s");
    expect(await plan("a", "x")).toBe("2026-02-28 00:00 baseline-cron");
  });

  it("notices that the clock was set back little by little, at most once for each time", async () => {
    const { clock, warnings } = await idle();
    for (let step = 0; step < 5; step++) {
      clock.jump("-2s");
      await clock.advance("1s");
    }
    expect(warnings).toHaveLength(5);
    await clock.advance("1m");
    expect(warnings).toHaveLength(5);
  });

  it("notices changes from outside", async () => {
    const { clock, store, plan } = await idle();
    await store.changeFromOutside({ agent: "a", schedule: "x" }, "2026-03-01T00:45:00.000Z");
    await clock.advance("1s");
    expect(await plan("a", "x")).toBe("00:45 manual");
  });

  it("retries a plan that could not be written", async () => {
    const store = new (class extends WatchedStore {
      isBroken = true;
      protected override async commit(operation: Parameters<MemoryStore["commit"]>[0]): Promise<void> {
        if (this.isBroken && this.isOwner) throw new Error("disk full");
        await super.commit(operation);
      }
    })();
    store.isBroken = false;
    const { clock, scheduler, plan } = await idle({ store });
    store.isBroken = true;
    scheduler.setAgents([agent("a", { x: cron("15 * * * *") })]);
    await clock.advance("1m");
    expect(await plan("a", "x")).toBe("01:00 baseline-cron");
    store.isBroken = false;
    await clock.advance("1s");
    expect(await plan("a", "x")).toBe("01:15 baseline-cron");
  });

  it("renews the claims of running jobs", async () => {
    const clock = new FakeClock(START);
    const { scheduler, store } = await idle({ clock, work: () => clock.sleep("10m") });
    await scheduler.trigger("a", "x");
    await clock.advance("1m");
    expect(store.renewals).toBeGreaterThan(1);
  });
});
