/** What every StateStore guarantees. A store passes when all of this holds on it. */
import { describe, expect, it, onTestFinished } from "vitest";
import {
  type Claim,
  type ClaimRefusal,
  completeClaim,
  type Definitions,
  FakeClock,
  type JobFinish,
  releaseClaim,
  type ScheduleKey,
  type ScheduleStatePatch,
  StateError,
  type StateStore,
} from "../../src/index.js";

const START = "2026-03-01T00:00:00Z";
const LEASE_MS = 30_000;

/** A store that is not open yet, on states that no other test sees. */
export type MakeStore = (options: { clock?: FakeClock | undefined; leaseMs: number }) => StateStore;

const key = (name: string): ScheduleKey => {
  const [agent = "", schedule = ""] = name.split("/");
  return { agent, schedule };
};
/** Schedules of agents that all have the same capacity. */
const definitions = (names: readonly string[], maxConcurrent?: number): Definitions => {
  const schedules = names.map(key);
  return { agents: schedules.map(({ agent }) => ({ agent, maxConcurrent })), schedules };
};
const nameOf = ({ agent, schedule }: ScheduleKey): string => `${agent}/${schedule}`;
const names = (claims: readonly ScheduleKey[]): string[] => claims.map(nameOf);

/** The first of the claims, for tests that make one. */
function only(claims: readonly Claim[]): Claim {
  const [claim] = claims;
  if (claim === undefined || claims.length !== 1)
    throw new Error(`Expected one claim, got ${claims.length}.`);
  return claim;
}

/** The claim, for tests that nothing speaks against. */
function held(answer: Claim | ClaimRefusal): Claim {
  if (typeof answer === "string") throw new Error(`Expected a claim, got ${answer}.`);
  return answer;
}

/** When the next `claimDue` can find something, without claiming anything. */
async function nextDueAt(store: StateStore): Promise<Date | undefined> {
  const { nextDueAt: dueAt } = await store.claimDue(0);
  return dueAt;
}

/** Ends claims in one call, and returns of each whether it was held. */
async function completeAll(store: StateStore, ends: readonly JobFinish[]): Promise<boolean[]> {
  return (await store.finishJobs(ends)).map(({ claim }) => claim === "ended");
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
    maxConcurrent?: number,
  ): Promise<{ store: StateStore; clock: FakeClock }> {
    const opened = await openStore();
    await Promise.all(
      Object.entries(plans).map(([name, time]) =>
        opened.store.update(key(name), { next_run_at: at(time), next_run_source: "baseline-interval" }),
      ),
    );
    await opened.store.define(definitions(Object.keys(plans), maxConcurrent));
    return opened;
  }

  const at = (time: string): string => `2026-03-01T${time}.000Z`;

  describe(`the lease of a ${kind}`, () => {
    it.each([0, 99, -1, Number.NaN, Infinity])("cannot be %d ms", (leaseMs) => {
      expect(() => make({ leaseMs })).toThrow(
        `Invalid leaseMs ${leaseMs}: expected milliseconds from 100, or text such as "30s" or "5m".`,
      );
    });
  });

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

    it("are told whole to a function that decides on a change", async () => {
      const { store } = await openStore();
      await store.update(key("a/x"), { failure_count: 2 });
      const seen: unknown[] = [];
      const answer = await store.update(key("a/x"), (state) => {
        seen.push(state);
        return { failure_count: 3 };
      });
      const whole = { status: "idle", last_run_at: null, next_run_at: null, last_error: null };
      expect(seen).toEqual([{ ...whole, failure_count: 2 }]);
      expect(answer).toEqual({ ...whole, failure_count: 3 });
    });

    it("are to each of many functions at once what the one before has made of them", async () => {
      const { store } = await openStore();
      const increments = Array.from({ length: 50 }, () =>
        store.update(key("a/x"), ({ failure_count }) => ({ failure_count: (failure_count ?? 0) + 1 })),
      );
      const counts = (await Promise.all(increments)).map(({ failure_count }) => failure_count);
      expect(counts).toEqual(Array.from({ length: 50 }, (_, i) => i + 1));
      expect(await store.read(key("a/x"))).toMatchObject({ failure_count: 50 });
    });

    it.each<[string, () => ScheduleStatePatch, object]>([
      [
        "throws",
        () => {
          throw new RangeError("undecided");
        },
        { message: "undecided" },
      ],
      ["returns an invalid patch", () => ({ failure_count: -1 }), { code: "INVALID_STATE" }],
    ])("keep all other changes made at once with a function that %s", async (_, decide, reason) => {
      const { store } = await openStore();
      const updates = await Promise.allSettled([
        store.update(key("a/x"), { failure_count: 1 }),
        store.update(key("a/x"), decide),
        store.update(key("a/x"), ({ failure_count }) => ({ missed_count: failure_count })),
      ]);
      expect(updates.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
      expect(updates[1]).toMatchObject({ reason });
      expect(await store.read(key("a/x"))).toMatchObject({ failure_count: 1, missed_count: 1 });
    });

    it("change many at once, each as is decided on its own", async () => {
      const { store } = await openStore();
      await store.update(key("a/x"), { failure_count: 2, last_error: "boom" });
      const seen: unknown[] = [];
      await store.updateAll([key("a/x"), key("b/y"), key("a/z")], (state, index) => {
        seen[index] = state;
        return { failure_count: (state.failure_count ?? 0) + index };
      });
      const whole = { status: "idle", last_run_at: null, next_run_at: null, last_error: null };
      expect(seen).toEqual([{ ...whole, failure_count: 2, last_error: "boom" }, whole, whole]);
      const read = await Promise.all(["a/x", "b/y", "a/z"].map((name) => store.read(key(name))));
      expect(read.map(({ failure_count }) => failure_count)).toEqual([2, 1, 2]);
      expect(read[0]).toMatchObject({ last_error: "boom" });
    });

    it("that are changed at once are due at once as they were decided", async () => {
      const { store, clock } = await storeWith({ "a/x": "00:00:00", "b/y": "00:01:00" });
      await store.updateAll([key("a/x"), key("b/y")], (_, index) => ({
        next_run_at: at(`00:0${5 - index}:00`),
      }));
      expect(await nextDueAt(store)).toEqual(new Date(at("00:04:00")));
      await clock.advance("4m");
      expect(names((await store.claimDue(10)).claims)).toEqual(["b/y"]);
    });

    it("are decided upon before any of many is changed", async () => {
      const { store } = await openStore();
      const counts: unknown[] = [];
      await store.updateAll([key("a/x"), key("a/x")], ({ failure_count = null }, index) => {
        counts[index] = failure_count;
        return { failure_count: index };
      });
      expect(counts).toEqual([null, null]);
      expect(await store.read(key("a/x"))).toMatchObject({ failure_count: 1 });
    });

    it.each<[string, () => ScheduleStatePatch, object]>([
      [
        "throws",
        () => {
          throw new RangeError("undecided");
        },
        { message: "undecided" },
      ],
      ["is an invalid patch", () => ({ failure_count: -1 }), { code: "INVALID_STATE" }],
    ])("stay all as they are when one of many decisions %s", async (_, decide, reason) => {
      const { store } = await openStore();
      await store.update(key("a/x"), { failure_count: 1 });
      const [many, one] = await Promise.allSettled([
        store.updateAll([key("a/x"), key("a/y"), key("b/z")], (_state, index) =>
          index === 1 ? decide() : { failure_count: 7 },
        ),
        store.update(key("b/z"), { missed_count: 3 }),
      ]);
      expect(many).toMatchObject({ status: "rejected", reason });
      expect(one.status).toBe("fulfilled");
      expect(await store.read(key("a/x"))).toMatchObject({ failure_count: 1 });
      expect((await store.read(key("b/z"))).failure_count).toBeUndefined();
      expect(await store.read(key("b/z"))).toMatchObject({ missed_count: 3 });
    });

    it("stay all as they are when one of many has an invalid name", async () => {
      const { store } = await openStore();
      await expect(
        store.updateAll([key("a/x"), { agent: "a", schedule: "" }], () => ({ failure_count: 1 })),
      ).rejects.toThrow(StateError);
      expect(await store.list("a")).toEqual(new Map());
    });

    it("are those of the call, whatever the caller does to its keys and patches afterwards", async () => {
      const { store } = await openStore();
      const keys = [{ agent: "a", schedule: "x" }];
      const hint = { interval: "5m", expires_at: at("10:00:00") };
      const update = store.updateAll(keys, () => ({ hint }));
      for (const given of keys) given.schedule = "";
      await update;
      hint.interval = "soon";
      expect(await store.read(key("a/x"))).toMatchObject({ hint: { interval: "5m" } });
    });

    it("are answered by define, in its order", async () => {
      const { store } = await openStore();
      await store.update(key("a/x"), { failure_count: 1 });
      await store.update(key("b/y"), { failure_count: 2 });
      const defined = await store.define({ schedules: [key("b/y"), key("c/z"), key("a/x")] });
      const read = await Promise.all(["b/y", "c/z", "a/x"].map((name) => store.read(key(name))));
      expect(defined.map(({ state }) => state)).toEqual(read);
      expect(defined.map(({ state }) => state.failure_count)).toEqual([2, undefined, 1]);
      expect(defined.map(({ isPlannedHere }) => isPlannedHere)).toEqual([true, true, true]);
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
      ["a malformed time", () => ["a/x", { next_run_at: "tomorrow" }]],
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
      expect(claim.jobId).toMatch(/^job-2026-03-01-[0-9a-z]{8}$/);
      expect(await store.read(key("a/x"))).toMatchObject({
        status: "running",
        claim: {
          token: claim.token,
          job_id: claim.jobId,
          slot: at("00:01:00"),
          source: "baseline-interval",
          claimed_at: at("00:01:30"),
        },
      });
    });

    it("says when a slot was first seen due, when it was claimed, and what became of the state", async () => {
      const { store, clock } = await storeWith({ "a/x": "00:00:05" });
      await clock.advance("7s");
      const claim = only((await store.claimDue(10)).claims);
      expect(claim).toMatchObject({ slot: new Date(at("00:00:05")), seenAt: new Date(at("00:00:07")) });
      expect(claim.claimedAt).toEqual(new Date(at("00:00:07")));
      expect(claim.state).toEqual(await store.read(key("a/x")));
      expect(claim.state).toMatchObject({ status: "running", next_run_at: at("00:00:05"), last_error: null });
    });

    it("remembers when a slot was first seen due while it waits for capacity", async () => {
      const { store, clock } = await storeWith({ "a/x": "00:00:00", "a/y": "00:00:05" });
      const first = only((await store.claimDue(10)).claims);
      await clock.advance("7s");
      await store.claimDue(10);
      await clock.advance("10s");
      await completeClaim(store, first, {});
      expect(only((await store.claimDue(10)).claims)).toMatchObject({
        slot: new Date(at("00:00:05")),
        seenAt: new Date(at("00:00:07")),
        claimedAt: new Date(at("00:00:17")),
      });
    });

    it("drops a claim of what was disabled at the same time, as if it had never been", async () => {
      const { store } = await storeWith({ "a/x": "00:00:00" });
      const before = await store.read(key("a/x"));
      const disabling = store.update(key("a/x"), { status: "disabled" });
      expect((await store.claimDue(10)).claims).toEqual([]);
      expect(await disabling).toEqual({ ...before, status: "disabled" });
      await store.update(key("a/x"), { status: "idle" });
      expect(names((await store.claimDue(10)).claims)).toEqual(["a/x"]);
    });

    it("claims no more than its limit, also where the oldest have to wait for their agent", async () => {
      const { store } = await storeWith({
        "a/x": "00:00:00",
        "a/y": "00:00:00",
        "b/x": "00:00:00",
        "c/x": "00:00:00",
        "d/x": "00:00:00",
      });
      expect(names((await store.claimDue(1)).claims)).toEqual(["a/x"]);
      expect(names((await store.claimDue(1)).claims)).toEqual(["b/x"]);
      expect(names((await store.claimDue(1)).claims)).toEqual(["c/x"]);
    });

    it("never gives a schedule that runs already", async () => {
      const { store, clock } = await storeWith({ "a/x": "00:00:00" }, 5);
      await store.claimDue(10);
      await store.update(key("a/x"), { next_run_at: at("00:00:10") });
      await clock.advance("20s");
      expect((await store.claimDue(10)).claims).toEqual([]);
    });

    it("stays within an agent's capacity, which is 1 unless it says otherwise", async () => {
      const plans = { "a/x": "00:00:00", "a/y": "00:00:00", "a/z": "00:00:00", "b/x": "00:00:00" };
      const { store } = await storeWith(plans);
      expect(names((await store.claimDue(10)).claims)).toEqual(["a/x", "b/x"]);
      const wider = await storeWith(plans, 2);
      expect(names((await wider.store.claimDue(10)).claims)).toEqual(["a/x", "a/y", "b/x"]);
    });

    it("says once of a slot that it has to wait for capacity", async () => {
      const { store } = await storeWith({ "a/x": "00:00:00", "a/y": "00:00:00" });
      const { skipped } = await store.claimDue(10);
      const slot = new Date(at("00:00:00"));
      expect(skipped).toEqual([{ ...key("a/y"), slot, source: "baseline-interval", reason: "at_capacity" }]);
      expect((await store.claimDue(10)).skipped).toEqual([]);
    });

    it("remembers when it first saw a slot that waits, whatever is written and defined meanwhile", async () => {
      const { store, clock } = await storeWith({ "a/x": "00:00:00", "a/y": "00:00:00" });
      const first = only((await store.claimDue(10)).claims);
      await clock.advance("20s");
      await store.update(key("a/y"), { last_error: "none of its business" });
      await store.define(definitions(["a/x", "a/y"], 1));
      expect((await store.claimDue(10)).skipped).toEqual([]);
      await completeClaim(store, first, {});
      const { seenAt } = only((await store.claimDue(10)).claims);
      expect(seenAt).toEqual(new Date(at("00:00:00")));
    });

    it("forgets when it saw a slot once there is another", async () => {
      const { store, clock } = await storeWith({ "a/x": "00:00:00", "a/y": "00:00:00" });
      await store.claimDue(10);
      await store.update(key("a/y"), { next_run_at: at("01:00:00") });
      await store.update(key("a/y"), { next_run_at: at("00:00:00") });
      await clock.advance("1m");
      expect(names((await store.claimDue(10)).skipped)).toEqual(["a/y"]);
    });

    it("leaves no trace in the state of a claim that was not renewed", async () => {
      const { store, clock } = await storeWith({ "a/x": "12:00:00" });
      await store.claim(key("a/x"));
      await clock.advance(LEASE_MS);
      expect((await store.claimDue(10)).claims).toEqual([]);
      const { status, claim, next_run_at } = await store.read(key("a/x"));
      expect([status, claim ?? null, next_run_at]).toEqual(["idle", null, at("12:00:00")]);
    });

    it("frees what was disabled while it ran when it is opened after a crash", async () => {
      const { store } = await storeWith({ "a/x": "00:00:00" });
      await store.claimDue(10);
      await store.update(key("a/x"), { status: "disabled" });
      await store.close();
      await store.open();
      const { status, claim } = await store.read(key("a/x"));
      expect([status, claim ?? null]).toEqual(["disabled", null]);
    });

    it("claims at once what it freed when it was opened again", async () => {
      const { store } = await storeWith({ "a/x": "00:00:00" });
      await store.claimDue(10);
      await store.close();
      await store.open();
      expect(names((await store.claimDue(10)).claims)).toEqual(["a/x"]);
    });

    it("has seen no slot later than now, when the clock was set back while it waited", async () => {
      const { store, clock } = await storeWith({ "a/x": "00:00:00", "a/y": "00:00:00" });
      clock.jump("1h");
      const first = only((await store.claimDue(10)).claims);
      clock.jump("-1h");
      await completeClaim(store, first, {});
      expect(only((await store.claimDue(10)).claims).seenAt).toEqual(clock.now());
    });

    it("claims waiting schedules when capacity frees, the oldest first", async () => {
      const { store, clock } = await storeWith({ "a/x": "00:00:00", "a/z": "00:00:20", "a/y": "00:00:10" });
      const first = only((await store.claimDue(10)).claims);
      await clock.advance("25s");
      expect((await store.claimDue(10)).claims).toEqual([]);
      await completeClaim(store, first, {});
      const second = only((await store.claimDue(10)).claims);
      await completeClaim(store, second, {});
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
      await store.define(definitions(["c/z"]));
      await store.update(key("c/z"), { next_run_at: at("00:00:00") });
      expect(names((await store.claimDue(10)).claims)).toEqual(["c/z"]);
      expect(await completeClaim(store, claim as Claim, { failure_count: 0 })).toBe(true);
      expect(await store.read(key("a/x"))).toMatchObject({ status: "idle", failure_count: 0 });
    });

    it("frees capacity for waiting schedules, also when what ran is no longer defined", async () => {
      const { store } = await storeWith({ "a/x": "00:00:00", "a/y": "00:00:00" });
      const claim = only((await store.claimDue(10)).claims);
      await store.define({ schedules: [key("a/y")] });
      expect((await store.claimDue(10)).claims).toEqual([]);
      await completeClaim(store, claim, {});
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

    it.each([0, 1])("knows when it saw what it had no room for, when its limit was %d", async (limit) => {
      const { store, clock } = await storeWith({ "a/x": "00:00:00", "b/x": "00:00:00" });
      await store.claimDue(limit);
      await clock.advance("10s");
      const { claims } = await store.claimDue(10);
      expect(claims.find(({ agent }) => agent === "b")?.seenAt).toEqual(new Date(at("00:00:00")));
    });

    it.each([NaN, -1])("refuses %d as a limit", async (limit) => {
      const { store } = await openStore();
      await expect(store.claimDue(limit)).rejects.toMatchObject({ code: "INVALID_STATE" });
    });

    it.each([0, 1.5, Infinity])("refuses a capacity of %d", async (maxConcurrent) => {
      const { store } = await openStore();
      const refusal = store.define(definitions(["a/x"], maxConcurrent));
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

  describe(`claiming one schedule of a ${kind}`, () => {
    it("takes it now, due or not, as a manual slot", async () => {
      const { store, clock } = await storeWith({ "a/x": "01:00:00" });
      await clock.advance("90s");
      const now = new Date(at("00:01:30"));
      const claim = held(await store.claim(key("a/x")));
      expect(claim).toMatchObject({
        ...key("a/x"),
        slot: now,
        source: "manual",
        seenAt: now,
        claimedAt: now,
      });
      expect(claim.jobId).toMatch(/^job-2026-03-01-[0-9a-z]{8}$/);
      expect(await store.read(key("a/x"))).toMatchObject({
        status: "running",
        next_run_at: at("01:00:00"),
        claim: { token: claim.token, job_id: claim.jobId, slot: at("00:01:30"), source: "manual" },
      });
      expect(claim.state).toEqual(await store.read(key("a/x")));
    });

    it("takes it while it is paused", async () => {
      const { store } = await storeWith({ "a/x": "00:00:00" });
      await store.update(key("a/x"), { paused_until: at("01:00:00") });
      expect(held(await store.claim(key("a/x")))).toMatchObject({ source: "manual" });
    });

    it("is completed like any other", async () => {
      const { store } = await storeWith({ "a/x": "01:00:00" });
      const claim = held(await store.claim(key("a/x")));
      expect(await completeClaim(store, claim, { next_run_at: at("02:00:00") })).toBe(true);
      expect(await store.read(key("a/x"))).toMatchObject({ status: "idle", next_run_at: at("02:00:00") });
    });

    it("is refused for what is disabled, and changes nothing", async () => {
      const { store } = await storeWith({ "a/x": "00:00:00" });
      const disabled = await store.update(key("a/x"), { status: "disabled" });
      expect(await store.claim(key("a/x"))).toBe("disabled");
      expect(await store.read(key("a/x"))).toEqual(disabled);
    });

    it("is refused for what runs already", async () => {
      const { store } = await storeWith({ "a/x": "00:00:00" }, 5);
      const { state } = only((await store.claimDue(10)).claims);
      expect(await store.claim(key("a/x"))).toBe("already_running");
      expect(await store.read(key("a/x"))).toEqual(state);
    });

    it("is refused for an agent at capacity, until capacity frees", async () => {
      const { store } = await storeWith({ "a/x": "00:00:00", "a/y": "01:00:00" });
      const claim = only((await store.claimDue(10)).claims);
      expect(await store.claim(key("a/y"))).toBe("at_capacity");
      await completeClaim(store, claim, {});
      expect(await store.claim(key("a/y"))).toMatchObject(key("a/y"));
    });

    it("counts against its agent's capacity", async () => {
      const { store } = await storeWith({ "a/x": "00:00:00", "a/y": "01:00:00" });
      const claim = held(await store.claim(key("a/y")));
      expect((await store.claimDue(10)).claims).toEqual([]);
      await completeClaim(store, claim, {});
      expect(names((await store.claimDue(10)).claims)).toEqual(["a/x"]);
    });

    it("throws for a schedule that is not defined", async () => {
      const { store } = await storeWith({ "a/x": "00:00:00" });
      await expect(store.claim(key("a/y"))).rejects.toMatchObject({ code: "INVALID_STATE" });
    });

    it("needs an open store", async () => {
      const { store } = await storeWith({ "a/x": "00:00:00" });
      await store.close();
      await expect(store.claim(key("a/x"))).rejects.toMatchObject({ code: "STATE_CLOSED" });
    });
  });

  describe(`completing a claim of a ${kind}`, () => {
    it("records the outcome and frees the schedule for its next slot", async () => {
      const { store, clock } = await storeWith({ "a/x": "00:00:00" });
      const claim = only((await store.claimDue(10)).claims);
      const patch: ScheduleStatePatch = { last_run_at: at("00:00:00"), next_run_at: at("00:05:00") };
      expect(await completeClaim(store, claim, patch)).toBe(true);
      expect(await store.read(key("a/x"))).toMatchObject({ status: "idle", ...patch });
      expect(Object.keys(await store.read(key("a/x")))).not.toContain("claim");
      await clock.advance("5m");
      expect(only((await store.claimDue(10)).claims).slot).toEqual(new Date(at("00:05:00")));
    });

    it("uses the slot up when it says nothing of the next", async () => {
      const { store, clock } = await storeWith({ "a/x": "00:00:00" });
      await completeClaim(store, only((await store.claimDue(10)).claims), {});
      await clock.advance("1h");
      expect((await store.claimDue(10)).claims).toEqual([]);
      expect(await store.read(key("a/x"))).toMatchObject({ status: "idle", next_run_at: null });
    });

    it("leaves a schedule disabled that was disabled meanwhile", async () => {
      const { store } = await storeWith({ "a/x": "00:00:00" });
      const claim = only((await store.claimDue(10)).claims);
      await store.update(key("a/x"), { status: "disabled" });
      await completeClaim(store, claim, { next_run_at: at("00:00:00") });
      expect(await store.read(key("a/x"))).toMatchObject({ status: "disabled" });
      expect((await store.claimDue(10)).claims).toEqual([]);
    });

    it("works once", async () => {
      const { store } = await storeWith({ "a/x": "00:00:00" });
      const claim = only((await store.claimDue(10)).claims);
      await completeClaim(store, claim, { failure_count: 0 });
      expect(await completeClaim(store, claim, { failure_count: 9 })).toBe(false);
      expect(await store.read(key("a/x"))).toMatchObject({ failure_count: 0 });
    });

    it("works once, also when it is asked for twice at the same time", async () => {
      const { store } = await storeWith({ "a/x": "00:00:00" });
      const claim = only((await store.claimDue(10)).claims);
      const answers = [1, 2].map((failure_count) => completeClaim(store, claim, { failure_count }));
      expect(await Promise.all(answers)).toEqual([true, false]);
      expect(await store.read(key("a/x"))).toMatchObject({ failure_count: 1 });
    });

    it("cannot be overtaken by the end of its lease", async () => {
      const { store, clock } = await storeWith({ "a/x": "00:00:00" });
      const claim = only((await store.claimDue(10)).claims);
      await store.jobs.start({ id: claim.jobId, agent: "a", schedule: "x", trigger: "interval" });
      await clock.advance(LEASE_MS);
      const completing = completeClaim(store, claim, { failure_count: 1 });
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
      expect(await completeClaim(store, late, { last_error: "late" })).toBe(false);
      expect(await store.read(key("a/x"))).toMatchObject({ status: "running", last_error: null });
      expect(await completeClaim(store, current, { failure_count: 0 })).toBe(true);
    });

    it("lets a function decide, on the state as it is by then", async () => {
      const { store } = await storeWith({ "a/x": "00:00:00" });
      const claim = only((await store.claimDue(10)).claims);
      const updating = store.update(key("a/x"), { failure_count: 4 });
      const completing = completeClaim(store, claim, ({ status, failure_count }) => ({
        last_error: status,
        failure_count: (failure_count ?? 0) + 1,
      }));
      expect(await Promise.all([updating, completing])).toMatchObject([{ failure_count: 4 }, true]);
      expect(await store.read(key("a/x"))).toMatchObject({
        status: "idle",
        last_error: "running",
        failure_count: 5,
        next_run_at: null,
      });
    });

    it("keeps the claim of a function that throws, and no other", async () => {
      const { store } = await storeWith({ "a/x": "00:00:00", "b/y": "00:00:00" });
      const [x, y] = (await store.claimDue(10)).claims as [Claim, Claim];
      const completions = await Promise.allSettled([
        completeClaim(store, x, () => {
          throw new RangeError("undecided");
        }),
        completeClaim(store, y, () => ({ failure_count: 1 })),
      ]);
      expect(completions).toMatchObject([{ reason: { message: "undecided" } }, { value: true }]);
      expect(await store.read(key("a/x"))).toEqual(x.state);
      expect((await store.claimDue(10)).claims).toEqual([]);
      expect(await completeClaim(store, x, () => ({ failure_count: 2 }))).toBe(true);
      expect(await store.read(key("a/x"))).toMatchObject({ status: "idle", failure_count: 2 });
    });

    it("knows of what else was changed at once", async () => {
      const { store } = await storeWith({ "a/x": "00:00:00" });
      const claim = only((await store.claimDue(10)).claims);
      await Promise.all([
        completeClaim(store, claim, { next_run_at: at("00:00:00") }),
        store.update(key("a/x"), { status: "disabled" }),
      ]);
      expect(await nextDueAt(store)).toBeUndefined();
      expect((await store.claimDue(10)).claims).toEqual([]);
    });

    it("does nothing to another schedule than the claimed one", async () => {
      const { store } = await storeWith({ "a/x": "00:00:00", "b/y": "00:00:00" });
      const [x, y] = (await store.claimDue(10)).claims as [Claim, Claim];
      expect(await completeClaim(store, { ...x, ...key("b/y") }, { failure_count: 1 })).toBe(false);
      expect(await store.read(key("b/y"))).toEqual(y.state);
    });

    it("refuses a bad patch and keeps the claim", async () => {
      const { store } = await storeWith({ "a/x": "00:00:00" });
      const claim = only((await store.claimDue(10)).claims);
      const bad = completeClaim(store, claim, { next_run_at: "soon" });
      await expect(bad).rejects.toMatchObject({ code: "INVALID_STATE" });
      expect(await completeClaim(store, claim, {})).toBe(true);
    });
  });

  describe(`completing several claims of a ${kind} together`, () => {
    async function claimed(...schedules: string[]): Promise<{ store: StateStore; claims: Claim[] }> {
      const { store } = await storeWith(Object.fromEntries(schedules.map((name) => [name, "00:00:00"])));
      return { store, claims: [...(await store.claimDue(10)).claims] };
    }

    it("records each outcome and frees each schedule", async () => {
      const { store, claims } = await claimed("a/x", "b/y");
      const answers = await completeAll(
        store,
        claims.map((claim, index) => ({
          claim,
          change: { failure_count: index, next_run_at: at("00:00:00") },
        })),
      );
      expect(answers).toEqual([true, true]);
      expect(await store.read(key("a/x"))).toMatchObject({ status: "idle", failure_count: 0 });
      expect(await store.read(key("b/y"))).toMatchObject({ status: "idle", failure_count: 1 });
      expect(names((await store.claimDue(10)).claims)).toEqual(["a/x", "b/y"]);
    });

    it("is nothing to do where there are none", async () => {
      const { store } = await claimed("a/x");
      expect(await completeAll(store, [])).toEqual([]);
    });

    it("answers of each whether it was held, and changes nothing for one that is not", async () => {
      const { store, claims } = await claimed("a/x", "b/y", "c/z");
      const [x, y, z] = claims as [Claim, Claim, Claim];
      await completeClaim(store, y, { failure_count: 1 });
      const ends = [x, y, { ...z, token: "another" }, z, x];
      const answers = await completeAll(
        store,
        ends.map((claim, index) => ({ claim, change: { failure_count: 10 + index } })),
      );
      expect(answers).toEqual([true, false, false, true, false]);
      const states = await Promise.all(["a/x", "b/y", "c/z"].map((name) => store.read(key(name))));
      expect(states.map(({ failure_count }) => failure_count)).toEqual([10, 1, 13]);
    });

    it("works once, also when one of them is completed alone at the same time", async () => {
      const { store, claims } = await claimed("a/x", "b/y");
      const [x] = claims as [Claim];
      const together = completeAll(
        store,
        claims.map((claim) => ({ claim, change: { failure_count: 1 } })),
      );
      const alone = completeClaim(store, x, { failure_count: 2 });
      expect([await together, await alone]).toEqual([[true, true], false]);
      expect(await store.read(key("a/x"))).toMatchObject({ failure_count: 1 });
    });

    it("lets functions decide, on the states as they are by then", async () => {
      const { store, claims } = await claimed("a/x", "b/y");
      const updating = store.update(key("b/y"), { failure_count: 4 });
      const change = (state: { failure_count?: number | null | undefined }): ScheduleStatePatch => ({
        failure_count: (state.failure_count ?? 0) + 1,
      });
      const completing = completeAll(
        store,
        claims.map((claim) => ({ claim, change })),
      );
      await Promise.all([updating, completing]);
      expect(await store.read(key("a/x"))).toMatchObject({ status: "idle", failure_count: 1 });
      expect(await store.read(key("b/y"))).toMatchObject({ status: "idle", failure_count: 5 });
    });

    it("keeps the claim whose function throws, and ends the rest", async () => {
      const { store, claims } = await claimed("a/x", "b/y", "c/z");
      const [x, y, z] = claims as [Claim, Claim, Claim];
      const error = new RangeError("undecided");
      const results = await store.finishJobs([
        { claim: x, change: { failure_count: 1 } },
        {
          claim: y,
          change: () => {
            throw error;
          },
        },
        { claim: z, change: { failure_count: 1 } },
      ]);
      expect(results).toEqual([
        { claim: "ended", record: "none" },
        { claim: "failed", record: "none", error },
        { claim: "ended", record: "none" },
      ]);
      expect(await store.read(y)).toEqual(y.state);
      expect(await store.renew(y)).toBe(true);
      for (const claim of [x, z])
        expect(await store.read(claim)).toMatchObject({ status: "idle", failure_count: 1 });
      expect((await store.claimDue(10)).claims).toEqual([]);
      expect(await completeAll(store, [{ claim: y, change: {} }])).toEqual([true]);
    });

    it("refuses one bad patch, keeps its claim and ends the rest", async () => {
      const { store, claims } = await claimed("a/x", "b/y");
      const [x, y] = claims as [Claim, Claim];
      const results = await store.finishJobs([
        { claim: x, change: {} },
        { claim: y, change: { next_run_at: "soon" } },
      ]);
      expect(results).toMatchObject([
        { claim: "ended" },
        { claim: "failed", error: { code: "INVALID_STATE" } },
      ]);
      expect(await store.read(y)).toEqual(y.state);
      expect(await completeAll(store, [{ claim: y, change: {} }])).toEqual([true]);
    });

    it("needs an open store", async () => {
      const { store, claims } = await claimed("a/x");
      await store.close();
      const completing = completeAll(
        store,
        claims.map((claim) => ({ claim, change: {} })),
      );
      await expect(completing).rejects.toMatchObject({ code: "STATE_CLOSED" });
    });
  });

  describe(`a slot of a ${kind} that is tried again`, () => {
    const RETRY = { slot: at("00:00:00"), attempt: 3, trigger: "cron", source: "baseline-cron" } as const;

    async function retried(more: ScheduleStatePatch = {}) {
      const { store, clock } = await storeWith({ "a/x": "00:00:10" });
      await store.update(key("a/x"), { next_run_source: "retry", retry: RETRY, ...more });
      return { store, clock };
    }

    it("is claimed at its planned time, with its own slot and attempt", async () => {
      const { store, clock } = await retried();
      expect((await store.claimDue(10)).claims).toEqual([]);
      await clock.advance("10s");
      const claim = only((await store.claimDue(10)).claims);
      expect(claim).toMatchObject({ slot: new Date(RETRY.slot), source: "retry", attempt: 3 });
      expect(claim.state).toMatchObject({ retry: RETRY, claim: { slot: RETRY.slot, source: "retry" } });
      expect(await store.read(key("a/x"))).toEqual(claim.state);
    });

    it("is over with its claim, unless the claim is given back", async () => {
      const { store, clock } = await retried({ interrupted_count: 2 });
      await clock.advance("10s");
      expect(await releaseClaim(store, only((await store.claimDue(10)).claims))).toBe(true);
      expect(await store.read(key("a/x"))).toMatchObject({ next_run_at: at("00:00:10"), retry: RETRY });
      const claim = only((await store.claimDue(10)).claims);
      expect(claim).toMatchObject({ slot: new Date(RETRY.slot), attempt: 3 });
      await completeAll(store, [{ claim, change: {} }]);
      const state = await store.read(key("a/x"));
      expect([state.retry, state.interrupted_count]).toEqual([undefined, undefined]);
    });

    it("is claimed as such at the end of a pause", async () => {
      const until = { paused_until: at("00:00:20"), next_run_at: at("00:00:20") };
      const { store, clock } = await retried({ ...until, next_run_source: "paused" });
      await clock.advance("20s");
      const claim = only((await store.claimDue(10)).claims);
      expect(claim).toMatchObject({ slot: new Date(RETRY.slot), source: "retry", attempt: 3 });
    });

    it("waits while its schedule is claimed on request, and is due after that", async () => {
      const { store, clock } = await retried({ interrupted_count: 1 });
      const asked = await store.claim(key("a/x"));
      expect(asked).toMatchObject({ source: "manual", attempt: 1, slot: clock.now() });
      const plan = { next_run_at: at("00:00:10"), next_run_source: "retry" } as const;
      await completeAll(store, [{ claim: asked as Claim, change: plan }]);
      expect(await store.read(key("a/x"))).toMatchObject({ ...plan, retry: RETRY, interrupted_count: 1 });
      await clock.advance("10s");
      expect(only((await store.claimDue(10)).claims)).toMatchObject({ source: "retry", attempt: 3 });
    });

    it("is told with its slot when it has to wait for capacity", async () => {
      const { store, clock } = await retried();
      await store.define({ schedules: [key("a/x"), key("a/y")] });
      await store.update(key("a/x"), { next_run_at: at("00:00:10"), next_run_source: "retry", retry: RETRY });
      await store.claim(key("a/y"));
      await clock.advance("10s");
      const { skipped } = await store.claimDue(10);
      expect(skipped).toEqual([
        { ...key("a/x"), slot: new Date(RETRY.slot), source: "retry", reason: "at_capacity" },
      ]);
    });
  });

  describe(`giving a claim of a ${kind} back`, () => {
    it("makes its slot due again, as it was", async () => {
      const { store, clock } = await storeWith({ "a/x": "00:00:00" });
      await store.update(key("a/x"), { last_run_at: at("00:00:01"), interrupted_count: 1 });
      const before = await store.read(key("a/x"));
      await clock.advance("10s");
      const claim = only((await store.claimDue(10)).claims);
      expect(await releaseClaim(store, claim)).toBe(true);
      expect(await store.read(key("a/x"))).toEqual({ ...before, status: "idle" });
      const again = only((await store.claimDue(10)).claims);
      expect(again).toMatchObject({ slot: claim.slot, source: claim.source });
      expect(again.token).not.toBe(claim.token);
    });

    it("frees its agent's capacity", async () => {
      const { store } = await storeWith({ "a/x": "00:00:00", "a/y": "01:00:00" });
      await releaseClaim(store, only((await store.claimDue(10)).claims));
      expect(await store.claim(key("a/y"))).toMatchObject(key("a/y"));
    });

    it("leaves a schedule disabled that was disabled meanwhile", async () => {
      const { store } = await storeWith({ "a/x": "00:00:00" });
      const claim = only((await store.claimDue(10)).claims);
      await store.update(key("a/x"), { status: "disabled" });
      expect(await releaseClaim(store, claim)).toBe(true);
      expect(await store.read(key("a/x"))).toMatchObject({ status: "disabled", next_run_at: at("00:00:00") });
      expect((await store.claimDue(10)).claims).toEqual([]);
    });

    it("changes nothing when another claim has taken its place, and says so", async () => {
      const { store, clock } = await storeWith({ "a/x": "00:00:00" });
      const late = only((await store.claimDue(10)).claims);
      await clock.advance(LEASE_MS);
      const { state } = only((await store.claimDue(10)).claims);
      expect(await releaseClaim(store, late)).toBe(false);
      expect(await store.read(key("a/x"))).toEqual(state);
    });

    it("changes nothing when the claim has ended, and says so", async () => {
      const { store } = await storeWith({ "a/x": "00:00:00", "b/y": "00:00:00" });
      const [x, y] = (await store.claimDue(10)).claims as [Claim, Claim];
      await completeClaim(store, x, { next_run_at: at("00:05:00") });
      await releaseClaim(store, y);
      expect(await Promise.all([releaseClaim(store, x), releaseClaim(store, y)])).toEqual([false, false]);
      expect(await store.read(key("a/x"))).toMatchObject({ next_run_at: at("00:05:00") });
    });
  });

  describe(`opening a ${kind}`, () => {
    it("brings a clock to a store that was made without one", async () => {
      const clock = new FakeClock(START);
      const store = make({ leaseMs: LEASE_MS });
      onTestFinished(() => store.close());
      await store.open(clock);
      await store.define({ schedules: [key("a/x")] });
      expect(held(await store.claim(key("a/x"))).claimedAt).toEqual(new Date(START));
    });

    it("leaves a store its own clock", async () => {
      const store = make({ clock: new FakeClock(START), leaseMs: LEASE_MS });
      onTestFinished(() => store.close());
      await store.open(new FakeClock("2027-01-01T00:00:00Z"));
      await store.define({ schedules: [key("a/x")] });
      expect(held(await store.claim(key("a/x"))).claimedAt).toEqual(new Date(START));
    });

    it("works again after it was closed", async () => {
      const { store } = await storeWith({ "a/x": "00:00:00" });
      await completeClaim(store, only((await store.claimDue(10)).claims), { next_run_at: at("00:00:00") });
      await store.close();
      await store.open();
      await store.define({ schedules: [key("a/x")] });
      const claim = only((await store.claimDue(10)).claims);
      await store.jobs.start({ id: claim.jobId, agent: "a", schedule: "x", trigger: "interval" });
      expect(await completeClaim(store, claim, { failure_count: 1 })).toBe(true);
      expect(await store.read(key("a/x"))).toMatchObject({ status: "idle", failure_count: 1 });
    });
  });

  describe(`the lease of a claim of a ${kind}`, () => {
    it("is as long as the store says", async () => {
      const { store } = await openStore();
      expect(store.leaseMs).toBe(LEASE_MS);
    });

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
      expect(await completeClaim(store, claim, {})).toBe(true);
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
      expect(await nextDueAt(store)).toEqual(new Date(at("00:02:00")));
      await clock.advance("2m");
      await store.claimDue(10);
      expect(await nextDueAt(store)).toEqual(new Date(at("00:03:00")));
    });

    it("is another when the one that was the next is planned for later, or not at all", async () => {
      const { store } = await storeWith({ "a/x": "00:02:00", "b/y": "00:01:00" });
      await store.claimDue(10);
      await store.update(key("b/y"), { next_run_at: at("00:05:00") });
      expect(await nextDueAt(store)).toEqual(new Date(at("00:02:00")));
      await store.update(key("a/x"), { next_run_at: null });
      expect(await nextDueAt(store)).toEqual(new Date(at("00:05:00")));
    });

    it("is undefined when nothing is planned", async () => {
      const { store } = await openStore();
      await store.define({ schedules: [key("a/x")] });
      expect(await nextDueAt(store)).toBeUndefined();
    });

    it("ignores slots that wait for capacity, which are given when capacity frees", async () => {
      const { store } = await storeWith({ "a/x": "00:00:00", "a/y": "00:00:00" });
      const claim = only((await store.claimDue(10)).claims);
      expect(await nextDueAt(store)).toBeUndefined();
      await completeClaim(store, claim, {});
      expect(names((await store.claimDue(10)).claims)).toEqual(["a/y"]);
    });

    it("ignores slots that wait for the caller's limit, which are given with the next claims", async () => {
      const { store } = await storeWith({ "a/x": "00:00:00", "b/y": "00:00:00", "c/z": "00:01:00" });
      expect((await store.claimDue(1)).nextDueAt).toEqual(new Date(at("00:01:00")));
      expect(names((await store.claimDue(1)).claims)).toEqual(["b/y"]);
    });

    it("moves with the end of a pause", async () => {
      const { store } = await storeWith({ "a/x": "00:01:00" });
      await store.update(key("a/x"), { paused_until: at("00:30:00") });
      expect(await nextDueAt(store)).toEqual(new Date(at("00:30:00")));
    });
  });
}
