/** What reserving a slot ahead of its time may do, and what it must not be noticed by. Part of what every store guarantees. */
import { describe, expect, it, onTestFinished } from "vitest";
import { FakeClock, type ScheduleKey, type StateStore } from "../../src/index.js";

type MakeStore = (options: { clock: FakeClock; leaseMs: number }) => StateStore;

const X: ScheduleKey = { agent: "a", schedule: "x" };
const Y: ScheduleKey = { agent: "a", schedule: "y" };
const at = (time: string): string => `2026-03-01T${time}.000Z`;
const names = (slots: readonly ScheduleKey[]): string[] =>
  slots.map(({ agent, schedule }) => `${agent}/${schedule}`);

export interface ReservationTraits {
  /**
   * Whether it makes ready for slots at all, which a store need not.
   * @default true
   */
  readonly isMade?: boolean;
}

export function describeReservations(
  kind: string,
  make: MakeStore,
  { isMade = true }: ReservationTraits = {},
): void {
  /** A store with one agent, whose schedule x is due after ten seconds and y after twenty. */
  async function storeWithSlots({ maxConcurrent = 1 } = {}): Promise<{
    store: StateStore;
    clock: FakeClock;
  }> {
    const clock = new FakeClock(at("00:00:00"));
    const store = make({ clock, leaseMs: 30_000 });
    onTestFinished(() => store.close());
    await store.open();
    await store.update(X, { next_run_at: at("00:00:10"), next_run_source: "baseline-cron" });
    await store.update(Y, { next_run_at: at("00:00:20"), next_run_source: "baseline-cron" });
    await store.define([
      { ...X, maxConcurrent },
      { ...Y, maxConcurrent },
    ]);
    return { store, clock };
  }

  describe(`a slot that a ${kind} has reserved`, () => {
    it("is claimed at its time and not before, as if it had just been", async () => {
      const { store, clock } = await storeWithSlots();
      await store.reserve(10, 10_000);
      await clock.advance(9_999);
      expect((await store.claimDue(10)).claims).toEqual([]);
      await clock.advance(1);
      const { claims, skipped } = await store.claimDue(10);
      const now = new Date(at("00:00:10"));
      expect(claims).toMatchObject([
        { ...X, slot: now, seenAt: now, claimedAt: now, source: "baseline-cron" },
      ]);
      expect(claims[0]?.jobId).toMatch(/^job-2026-03-01-[0-9a-z]{6}$/);
      expect(skipped).toEqual([]);
      const state = await store.read(X);
      expect(state).toMatchObject({ status: "running", claim: { token: claims[0]?.token } });
      expect(claims[0]?.state).toEqual(state);
    });

    it("is seen late when nobody came at its time", async () => {
      const { store, clock } = await storeWithSlots();
      await store.reserve(10, 10_000);
      await clock.advance("15s");
      expect((await store.claimDue(10)).claims).toMatchObject([
        { slot: new Date(at("00:00:10")), seenAt: new Date(at("00:00:15")) },
      ]);
    });

    it("ends as any other", async () => {
      const { store, clock } = await storeWithSlots();
      await store.reserve(10, 10_000);
      await clock.advance("10s");
      const [claim] = (await store.claimDue(10)).claims;
      expect(claim !== undefined && (await store.complete(claim, { failure_count: 2 }))).toBe(true);
      const { claim: none, ...state } = await store.read(X);
      expect([none ?? null, state]).toMatchObject([null, { status: "idle", failure_count: 2 }]);
      expect((await store.claimDue(10)).claims).toEqual([]);
    });

    it("shows nothing of that before its time", async () => {
      const { store } = await storeWithSlots();
      const before = await store.read(X);
      await store.reserve(10, 10_000);
      expect({ ...(await store.read(X)), claim: undefined }).toEqual({ ...before, claim: undefined });
      const listed = (await store.list("a")).get("x");
      expect([listed?.status, listed?.claim ?? null]).toEqual(["idle", null]);
      const [defined] = await store.define([X, Y]);
      expect([defined?.status, defined?.claim ?? null]).toEqual(["idle", null]);
      await store.update(X, (state) => {
        expect([state.status, state.claim ?? null]).toEqual(["idle", null]);
        return {};
      });
      expect(await store.nextDueAt()).toEqual(new Date(at("00:00:10")));
    });

    it.each([
      ["moved", { next_run_at: at("00:00:11") }],
      ["unplanned", { next_run_at: null }],
      ["paused", { paused_until: at("00:00:11") }],
      ["disabled", { status: "disabled" }],
    ] as const)("is not claimed when it is %s meanwhile", async (_, change) => {
      const { store, clock } = await storeWithSlots();
      await store.reserve(10, 10_000);
      const changed = await store.update(X, change);
      expect(changed.claim ?? null).toBeNull();
      await clock.advance("10s");
      expect((await store.claimDue(10)).claims).toEqual([]);
      expect(await store.read(X)).toEqual(changed);
    });

    it.each([
      ["disabled", { status: "disabled" }],
      ["moved", { next_run_at: at("00:01:00") }],
    ] as const)("is not claimed when it is %s at the same time", async (_, change) => {
      const { store, clock } = await storeWithSlots();
      await Promise.all([store.update(X, change), store.reserve(10, 10_000)]);
      expect(await store.read(X)).toMatchObject(change);
      await clock.advance("10s");
      expect((await store.claimDue(10)).claims).toEqual([]);
      expect(await store.read(X)).toMatchObject(change);
    });

    it("is claimed by another token after whatever else was changed", async () => {
      const { store, clock } = await storeWithSlots();
      await store.reserve(10, 10_000);
      await store.update(X, { failure_count: 3 });
      await clock.advance("10s");
      const { claims } = await store.claimDue(10);
      expect(claims).toMatchObject([{ ...X, state: { failure_count: 3 } }]);
      expect((await store.read(X)).claim?.token).toBe(claims[0]?.token);
    });

    it("keeps nobody from capacity, and waits for it like others", async () => {
      const { store, clock } = await storeWithSlots();
      await store.reserve(10, 10_000);
      const manual = await store.claim(Y);
      if (typeof manual === "string") throw new Error(manual);
      await clock.advance("10s");
      expect(await store.claimDue(10)).toMatchObject({
        claims: [],
        skipped: [{ ...X, reason: "at_capacity" }],
      });
      expect((await store.read(X)).status).toBe("idle");
      await store.complete(manual, {});
      expect(names((await store.claimDue(10)).claims)).toEqual(["a/x"]);
    });

    it("can be claimed by hand, and is used up by that alone", async () => {
      const { store, clock } = await storeWithSlots();
      await store.reserve(10, 10_000);
      const manual = await store.claim(X);
      if (typeof manual === "string") throw new Error(manual);
      await clock.advance("10s");
      expect((await store.claimDue(10)).claims).toEqual([]);
      expect(await store.complete(manual, {})).toBe(true);
      expect((await store.claimDue(10)).claims).toEqual([]);
    });

    it("does not overtake an older one that was not", async () => {
      const { store, clock } = await storeWithSlots();
      await store.reserve(10, 10_000);
      await store.update(Y, { next_run_at: at("00:00:09") });
      await clock.advance("10s");
      expect(await store.claimDue(10)).toMatchObject({ claims: [Y], skipped: [X] });
    });

    it.runIf(isMade)("comes first of two that may both run, and the other right after it", async () => {
      const { store, clock } = await storeWithSlots({ maxConcurrent: 2 });
      await store.reserve(10, 10_000);
      await store.update(Y, { next_run_at: at("00:00:09") });
      await clock.advance("10s");
      expect(names((await store.claimDue(10)).claims)).toEqual(["a/x"]);
      expect(await store.nextDueAt()).toEqual(new Date(at("00:00:09")));
      expect(names((await store.claimDue(10)).claims)).toEqual(["a/y"]);
    });

    it("is due as before when the store is opened again, and was not interrupted", async () => {
      const { store, clock } = await storeWithSlots();
      const before = await store.read(X);
      await store.reserve(10, 10_000);
      await store.close();
      await clock.advance("1m");
      await store.open();
      expect(await store.read(X)).toEqual(before);
    });

    it("is reserved no more when schedules are defined anew, and claimed all the same", async () => {
      const { store, clock } = await storeWithSlots();
      await store.reserve(10, 10_000);
      await store.define([X]);
      await store.reserve(10, 10_000);
      await store.define([Y, X]);
      await clock.advance("10s");
      expect(names((await store.claimDue(10)).claims)).toEqual(["a/x"]);
    });
  });

  describe(`reserving on a ${kind}`, () => {
    it("does nothing when nothing is due soon", async () => {
      const { store } = await storeWithSlots();
      const before = await store.read(X);
      await store.reserve(10, 9_999);
      expect(await store.read(X)).toEqual(before);
    });

    it("needs an open store", async () => {
      const store = make({ clock: new FakeClock(at("00:00:00")), leaseMs: 30_000 });
      await expect(store.reserve(10, 1_000)).rejects.toMatchObject({ code: "STATE_CLOSED" });
    });
  });
}
