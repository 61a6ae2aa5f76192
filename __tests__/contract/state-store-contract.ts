/** What every StateStore guarantees. A store passes when all of this holds on it. */
import { describe, expect, it, onTestFinished } from "vitest";
import {
  type Claim,
  FakeClock,
  type ScheduleDefinition,
  type ScheduleKey,
  type ScheduleStatePatch,
  StateError,
  type StateStore,
} from "../../src/index.js";

const START = "2026-03-01T00:00:00Z";
const LEASE_MS = 30_000;

/** A store that is not open yet, on states that no other test sees. */
export type MakeStore = (options: { clock: FakeClock; leaseMs: number }) => StateStore;

const key = (name: string): ScheduleKey => {
  const [agent = "", schedule = ""] = name.split("/");
  return { agent, schedule };
};
const definition = (name: string, maxConcurrent: number | undefined): ScheduleDefinition => ({
  ...key(name),
  maxConcurrent,
});
const nameOf = ({ agent, schedule }: ScheduleKey): string => `${agent}/${schedule}`;
const names = (claims: readonly ScheduleKey[]): string[] => claims.map(nameOf);

/** The first of the claims, for tests that make one. */
function only(claims: readonly Claim[]): Claim {
  const [claim] = claims;
  if (claim === undefined || claims.length !== 1)
    throw new Error(`Expected one claim, got ${claims.length}.`);
  return claim;
}

export function describeStateStore(kind: string, make: MakeStore): void {
  async function openStore(): Promise<{ store: StateStore; clock: FakeClock }> {
    const clock = new FakeClock(START);
    const store = make({ clock, leaseMs: LEASE_MS });
    onTestFinished(() => store.close());
    await store.open();
    return { store, clock };
  }

  /** A store with these schedules, each planned for its time of day. */
  async function storeWith(
    plans: Readonly<Record<string, string>>,
    { maxConcurrent }: Partial<ScheduleDefinition> = {},
  ): Promise<{ store: StateStore; clock: FakeClock }> {
    const opened = await openStore();
    await Promise.all(
      Object.entries(plans).map(([name, time]) =>
        opened.store.update(key(name), { next_run_at: at(time), next_run_source: "baseline-interval" }),
      ),
    );
    await opened.store.define(Object.keys(plans).map((name) => definition(name, maxConcurrent)));
    return opened;
  }

  const at = (time: string): string => `2026-03-01T${time}.000Z`;

  describe(`the states of a ${kind}`, () => {
    it("are the defaults for a schedule that never ran", async () => {
      const { store } = await openStore();
      expect(await store.read(key("a/x"))).toEqual({
        status: "idle",
        last_run_at: null,
        next_run_at: null,
        last_error: null,
      });
      expect(await store.list("a")).toEqual(new Map());
    });

    it("change only in the keys an update names", async () => {
      const { store } = await openStore();
      await store.update(key("a/x"), { last_error: "boom", failure_count: 2 });
      await store.update(key("a/y"), { failure_count: 7 });
      const answer = await store.update(key("a/x"), { failure_count: 3, missed_count: undefined });
      expect(answer).toMatchObject({ status: "idle", last_error: "boom", failure_count: 3 });
      expect(await store.read(key("a/x"))).toEqual(answer);
      expect(await store.read(key("a/y"))).toMatchObject({ failure_count: 7, last_error: null });
    });

    it("lose the keys an update sets to null", async () => {
      const { store } = await openStore();
      await store.update(key("a/x"), { paused_until: at("09:00:00"), hint: { expires_at: at("10:00:00") } });
      await store.update(key("a/x"), { paused_until: null, hint: null });
      expect(Object.keys(await store.read(key("a/x")))).not.toContain("paused_until");
      expect(Object.keys(await store.read(key("a/x")))).not.toContain("hint");
    });

    it("are those of the call, whatever the caller does to its patch afterwards", async () => {
      const { store } = await openStore();
      const patch = { failure_count: 1, hint: { interval: "5m", expires_at: at("10:00:00") } };
      const update = store.update(key("a/x"), patch);
      patch.failure_count = 2;
      patch.hint.interval = "soon";
      await update;
      expect(await store.read(key("a/x"))).toMatchObject({ failure_count: 1, hint: { interval: "5m" } });
    });

    it("keep every one of many updates at once", async () => {
      const { store } = await openStore();
      const all = Array.from({ length: 50 }, (_, i) => i);
      await Promise.all(all.map((i) => store.update(key(`a${i % 5}/x${i}`), { failure_count: i })));
      const states = await Promise.all(all.map((i) => store.read(key(`a${i % 5}/x${i}`))));
      expect(states.map((state) => state.failure_count)).toEqual(all);
    });

    it("keep several updates of one schedule at once", async () => {
      const { store } = await openStore();
      await store.update(key("a/x"), { failure_count: 0 });
      await Promise.all([
        store.update(key("a/x"), { failure_count: 1 }),
        store.update(key("a/x"), { missed_count: 2 }),
        store.update(key("a/x"), { last_error: "three" }),
      ]);
      const state = await store.read(key("a/x"));
      expect(state).toMatchObject({ failure_count: 1, missed_count: 2, last_error: "three" });
    });

    it("are listed by agent", async () => {
      const { store } = await openStore();
      await store.update(key("a/x"), { failure_count: 1 });
      await store.update(key("a/y"), { status: "disabled" });
      await store.update(key("b/z"), { failure_count: 3 });
      const states = await store.list("a");
      expect([...states.keys()].toSorted()).toEqual(["x", "y"]);
      expect(states.get("y")).toMatchObject({ status: "disabled" });
    });

    it.each<[string, () => [string, object]]>([
      ["an empty name", () => ["a/", {}]],
      ["an unknown key", () => ["a/x", { lastRun: 1 }]],
      ["an unknown status", () => ["a/x", { status: "sleeping" }]],
      ["a status that is cleared", () => ["a/x", { status: null }]],
      ["a time that is none", () => ["a/x", { next_run_at: "tomorrow" }]],
      ["a count below zero", () => ["a/x", { failure_count: -1 }]],
      ["a hint that never expires", () => ["a/x", { hint: { interval: "5m" } }]],
    ])("refuse %s and stay as they are", async (_, bad) => {
      const { store } = await openStore();
      await store.update(key("a/x"), { failure_count: 1 });
      const [name, patch] = bad();
      const refusal = store.update(key(name), patch);
      await expect(refusal).rejects.toThrow(StateError);
      await expect(refusal).rejects.toMatchObject({ code: "INVALID_STATE" });
      expect(await store.read(key("a/x"))).toMatchObject({ status: "idle", failure_count: 1 });
    });
  });

  describe(`claiming from a ${kind}`, () => {
    it("gives what is due, the oldest slot first", async () => {
      const { store, clock } = await storeWith({ "a/x": "00:00:30", "b/y": "00:00:10", "c/z": "00:00:20" });
      expect(names((await store.claimDue(10)).claims)).toEqual([]);
      await clock.advance("20s");
      expect(names((await store.claimDue(10)).claims)).toEqual(["b/y", "c/z"]);
      await clock.advance("10s");
      expect(names((await store.claimDue(10)).claims)).toEqual(["a/x"]);
    });

    it("gives at most as many as asked for", async () => {
      const plans = Object.fromEntries(Array.from({ length: 25 }, (_, i) => [`a${i}/x`, "00:00:00"]));
      const { store } = await storeWith(plans);
      const batches = [await store.claimDue(10), await store.claimDue(10), await store.claimDue(10)];
      expect(batches.map(({ claims }) => claims.length)).toEqual([10, 10, 5]);
      expect(batches.flatMap(({ claims }) => names(claims))).toEqual(Object.keys(plans));
    });

    it("records the slot, the token and the status before it answers", async () => {
      const { store, clock } = await storeWith({ "a/x": "00:01:00" });
      await clock.advance("90s");
      const claim = only((await store.claimDue(10)).claims);
      expect(claim).toMatchObject({ slot: new Date(at("00:01:00")), source: "baseline-interval" });
      expect(claim.jobId).toMatch(/^job-2026-03-01-[0-9a-z]{6}$/);
      expect(await store.read(key("a/x"))).toMatchObject({
        status: "running",
        last_started_at: at("00:01:30"),
        claim: { token: claim.token, job_id: claim.jobId, slot: at("00:01:00"), source: "baseline-interval" },
      });
    });

    it("never gives a schedule that runs already", async () => {
      const { store, clock } = await storeWith({ "a/x": "00:00:00" }, { maxConcurrent: 5 });
      await store.claimDue(10);
      await store.update(key("a/x"), { next_run_at: at("00:00:10") });
      await clock.advance("20s");
      expect((await store.claimDue(10)).claims).toEqual([]);
    });

    it("stays within an agent's capacity, which is 1 unless it says otherwise", async () => {
      const plans = { "a/x": "00:00:00", "a/y": "00:00:00", "a/z": "00:00:00", "b/x": "00:00:00" };
      const { store } = await storeWith(plans);
      expect(names((await store.claimDue(10)).claims)).toEqual(["a/x", "b/x"]);
      const wider = await storeWith(plans, { maxConcurrent: 2 });
      expect(names((await wider.store.claimDue(10)).claims)).toEqual(["a/x", "a/y", "b/x"]);
    });

    it("says once of a slot that it has to wait for capacity", async () => {
      const { store } = await storeWith({ "a/x": "00:00:00", "a/y": "00:00:00" });
      const { skipped } = await store.claimDue(10);
      expect(skipped).toEqual([{ ...key("a/y"), slot: new Date(at("00:00:00")), reason: "at_capacity" }]);
      expect((await store.claimDue(10)).skipped).toEqual([]);
    });

    it("gives those who wait their turn when capacity frees, the oldest first", async () => {
      const { store, clock } = await storeWith({ "a/x": "00:00:00", "a/z": "00:00:20", "a/y": "00:00:10" });
      const first = only((await store.claimDue(10)).claims);
      await clock.advance("25s");
      expect((await store.claimDue(10)).claims).toEqual([]);
      await store.complete(first, {});
      const second = only((await store.claimDue(10)).claims);
      await store.complete(second, {});
      expect([second, only((await store.claimDue(10)).claims)].map(nameOf)).toEqual(["a/y", "a/z"]);
    });

    it.each<[string, ScheduleStatePatch]>([
      ["disabled", { status: "disabled" }],
      ["paused", { paused_until: at("01:00:00") }],
      ["planned for later", { next_run_at: at("01:00:00") }],
      ["not planned at all", { next_run_at: null }],
    ])("passes over what is %s by now", async (_, patch) => {
      const { store, clock } = await storeWith({ "a/x": "00:01:00" });
      await store.update(key("a/x"), patch);
      await clock.advance("5m");
      expect((await store.claimDue(10)).claims).toEqual([]);
    });

    it("gives a paused schedule when its pause is over", async () => {
      const { store, clock } = await storeWith({ "a/x": "00:01:00" });
      await store.update(key("a/x"), { paused_until: at("01:00:00") });
      await clock.advance("1h");
      expect(only((await store.claimDue(10)).claims).slot).toEqual(new Date(at("00:01:00")));
    });

    it("knows only what is defined, and lets go of what no longer is", async () => {
      const { store } = await storeWith({ "a/x": "00:00:00", "b/y": "00:00:00" });
      const [claim] = (await store.claimDue(1)).claims;
      await store.define([{ ...key("c/z") }]);
      await store.update(key("c/z"), { next_run_at: at("00:00:00") });
      expect(names((await store.claimDue(10)).claims)).toEqual(["c/z"]);
      expect(await store.complete(claim as Claim, { failure_count: 0 })).toBe(true);
      expect(await store.read(key("a/x"))).toMatchObject({ status: "idle", failure_count: 0 });
    });

    it("frees capacity for who waits, also when what ran is no longer defined", async () => {
      const { store } = await storeWith({ "a/x": "00:00:00", "a/y": "00:00:00" });
      const claim = only((await store.claimDue(10)).claims);
      await store.define([key("a/y")]);
      expect((await store.claimDue(10)).claims).toEqual([]);
      await store.complete(claim, {});
      expect(names((await store.claimDue(10)).claims)).toEqual(["a/y"]);
    });

    it("gives each of 100 due slots to one of two workers", async () => {
      const plans = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`a${i}/x`, "00:00:00"]));
      const { store } = await storeWith(plans);
      const worker = async (): Promise<string[]> => {
        const claimed: string[] = [];
        for (;;) {
          const { claims } = await store.claimDue(10);
          if (claims.length === 0) return claimed;
          claimed.push(...names(claims));
        }
      };
      const all = (await Promise.all([worker(), worker()])).flat();
      expect(all.toSorted()).toEqual(Object.keys(plans).toSorted());
    });

    it.each([NaN, -1])("refuses %d as a limit", async (limit) => {
      const { store } = await openStore();
      await expect(store.claimDue(limit)).rejects.toMatchObject({ code: "INVALID_STATE" });
    });

    it.each([0, 1.5, Infinity])("refuses a capacity of %d", async (maxConcurrent) => {
      const { store } = await openStore();
      const refusal = store.define([{ ...key("a/x"), maxConcurrent }]);
      await expect(refusal).rejects.toMatchObject({ code: "INVALID_STATE" });
    });

    it("needs an open store", async () => {
      const store = make({ clock: new FakeClock(START), leaseMs: LEASE_MS });
      onTestFinished(() => store.close());
      await expect(store.claimDue(1)).rejects.toMatchObject({ code: "STATE_CLOSED" });
    });

    it("ends with the store", async () => {
      const { store } = await storeWith({ "a/x": "00:00:00" });
      await store.close();
      await store.close();
      await expect(store.claimDue(1)).rejects.toMatchObject({ code: "STATE_CLOSED" });
    });
  });

  describe(`completing a claim of a ${kind}`, () => {
    it("records the outcome and frees the schedule for its next slot", async () => {
      const { store, clock } = await storeWith({ "a/x": "00:00:00" });
      const claim = only((await store.claimDue(10)).claims);
      const patch: ScheduleStatePatch = { last_run_at: at("00:00:00"), next_run_at: at("00:05:00") };
      expect(await store.complete(claim, patch)).toBe(true);
      expect(await store.read(key("a/x"))).toMatchObject({ status: "idle", ...patch });
      expect(Object.keys(await store.read(key("a/x")))).not.toContain("claim");
      await clock.advance("5m");
      expect(only((await store.claimDue(10)).claims).slot).toEqual(new Date(at("00:05:00")));
    });

    it("uses the slot up when it says nothing of the next", async () => {
      const { store, clock } = await storeWith({ "a/x": "00:00:00" });
      await store.complete(only((await store.claimDue(10)).claims), {});
      await clock.advance("1h");
      expect((await store.claimDue(10)).claims).toEqual([]);
      expect(await store.read(key("a/x"))).toMatchObject({ status: "idle", next_run_at: null });
    });

    it("leaves a schedule disabled that was disabled meanwhile", async () => {
      const { store } = await storeWith({ "a/x": "00:00:00" });
      const claim = only((await store.claimDue(10)).claims);
      await store.update(key("a/x"), { status: "disabled" });
      await store.complete(claim, { next_run_at: at("00:00:00") });
      expect(await store.read(key("a/x"))).toMatchObject({ status: "disabled" });
      expect((await store.claimDue(10)).claims).toEqual([]);
    });

    it("works once", async () => {
      const { store } = await storeWith({ "a/x": "00:00:00" });
      const claim = only((await store.claimDue(10)).claims);
      await store.complete(claim, { failure_count: 0 });
      expect(await store.complete(claim, { failure_count: 9 })).toBe(false);
      expect(await store.read(key("a/x"))).toMatchObject({ failure_count: 0 });
    });

    it("works once, also when it is asked for twice at the same time", async () => {
      const { store } = await storeWith({ "a/x": "00:00:00" });
      const claim = only((await store.claimDue(10)).claims);
      const answers = [1, 2].map((failure_count) => store.complete(claim, { failure_count }));
      expect(await Promise.all(answers)).toEqual([true, false]);
      expect(await store.read(key("a/x"))).toMatchObject({ failure_count: 1 });
    });

    it("cannot be overtaken by the end of its lease", async () => {
      const { store, clock } = await storeWith({ "a/x": "00:00:00" });
      const claim = only((await store.claimDue(10)).claims);
      await store.jobs.start({ id: claim.jobId, agent: "a", schedule: "x", trigger: "interval" });
      await clock.advance(LEASE_MS);
      const completing = store.complete(claim, { failure_count: 1 });
      const claiming = store.claimDue(10);
      expect(await completing).toBe(true);
      expect((await claiming).claims).toEqual([]);
      expect(await store.read(key("a/x"))).toMatchObject({ status: "idle", failure_count: 1 });
      expect(await store.jobs.get(claim.jobId)).toMatchObject({ status: "running" });
    });

    it("changes nothing when another claim has taken its place, and says so", async () => {
      const { store, clock } = await storeWith({ "a/x": "00:00:00" });
      const late = only((await store.claimDue(10)).claims);
      await clock.advance(LEASE_MS);
      const current = only((await store.claimDue(10)).claims);
      expect(await store.complete(late, { last_error: "late" })).toBe(false);
      expect(await store.read(key("a/x"))).toMatchObject({ status: "running", last_error: null });
      expect(await store.complete(current, { failure_count: 0 })).toBe(true);
    });

    it("refuses a bad patch and keeps the claim", async () => {
      const { store } = await storeWith({ "a/x": "00:00:00" });
      const claim = only((await store.claimDue(10)).claims);
      const bad = store.complete(claim, { next_run_at: "soon" });
      await expect(bad).rejects.toMatchObject({ code: "INVALID_STATE" });
      expect(await store.complete(claim, {})).toBe(true);
    });
  });

  describe(`the lease of a claim of a ${kind}`, () => {
    it("ends after its time and not before", async () => {
      const { store, clock } = await storeWith({ "a/x": "00:00:00" });
      const first = only((await store.claimDue(10)).claims);
      await clock.advance(LEASE_MS - 1);
      expect((await store.claimDue(10)).claims).toEqual([]);
      await clock.advance(1);
      const second = only((await store.claimDue(10)).claims);
      expect(second.slot).toEqual(first.slot);
      expect(second.token).not.toBe(first.token);
    });

    it("lasts as long as it is renewed", async () => {
      const { store, clock } = await storeWith({ "a/x": "00:00:00" });
      const claim = only((await store.claimDue(10)).claims);
      for (let i = 0; i < 9; i++) {
        await clock.advance("10s");
        expect(await store.renew(claim)).toBe(true);
        expect((await store.claimDue(10)).claims).toEqual([]);
      }
      expect(await store.complete(claim, {})).toBe(true);
    });

    it("cannot be renewed when another claim has taken its place", async () => {
      const { store, clock } = await storeWith({ "a/x": "00:00:00" });
      const late = only((await store.claimDue(10)).claims);
      await clock.advance(LEASE_MS);
      await store.claimDue(10);
      expect(await store.renew(late)).toBe(false);
    });

    it("frees its agent's capacity when it ends", async () => {
      const { store, clock } = await storeWith({ "a/x": "00:00:00", "a/y": "00:00:01" });
      await store.claimDue(1);
      await clock.advance(LEASE_MS);
      expect(names((await store.claimDue(10)).claims)).toEqual(["a/x"]);
    });

    it("counts time that passed, not what the wall clock was set to", async () => {
      const { store, clock } = await storeWith({ "a/x": "00:00:00" });
      await store.claimDue(10);
      clock.jump("1h");
      expect((await store.claimDue(10)).claims).toEqual([]);
    });

    it("closes its job's record when it ends, and no other", async () => {
      const { store, clock } = await storeWith({ "a/x": "00:00:00", "b/y": "00:00:00" });
      const [lost, renewed] = (await store.claimDue(10)).claims as [Claim, Claim];
      for (const { agent, schedule, jobId } of [lost, renewed])
        await store.jobs.start({ id: jobId, agent, schedule, trigger: "interval" });
      await clock.advance(LEASE_MS - 1);
      await store.renew(renewed);
      await clock.advance(1);
      await store.claimDue(10);
      expect(await store.jobs.get(lost.jobId)).toMatchObject({ status: "interrupted" });
      expect(await store.jobs.get(renewed.jobId)).toMatchObject({ status: "running" });
    });
  });

  describe(`the next due time of a ${kind}`, () => {
    it("is the earliest of all that can be claimed", async () => {
      const { store, clock } = await storeWith({ "a/x": "00:03:00", "b/y": "00:02:00", "c/z": "00:01:00" });
      await store.update(key("c/z"), { status: "disabled" });
      expect(await store.nextDueAt()).toEqual(new Date(at("00:02:00")));
      await clock.advance("2m");
      await store.claimDue(10);
      expect(await store.nextDueAt()).toEqual(new Date(at("00:03:00")));
    });

    it("is none when nothing is planned", async () => {
      const { store } = await openStore();
      await store.define([key("a/x")]);
      expect(await store.nextDueAt()).toBeUndefined();
    });

    it("ignores who waits for capacity, until capacity frees", async () => {
      const { store } = await storeWith({ "a/x": "00:00:00", "a/y": "00:00:00" });
      const claim = only((await store.claimDue(10)).claims);
      expect(await store.nextDueAt()).toBeUndefined();
      await store.complete(claim, {});
      expect(await store.nextDueAt()).toEqual(new Date(at("00:00:00")));
    });

    it("is in the past while more is due than was asked for", async () => {
      const { store } = await storeWith({ "a/x": "00:00:00", "b/y": "00:00:00" });
      await store.claimDue(1);
      expect(await store.nextDueAt()).toEqual(new Date(at("00:00:00")));
    });

    it("moves with the end of a pause", async () => {
      const { store } = await storeWith({ "a/x": "00:01:00" });
      await store.update(key("a/x"), { paused_until: at("00:30:00") });
      expect(await store.nextDueAt()).toEqual(new Date(at("00:30:00")));
    });
  });
}
