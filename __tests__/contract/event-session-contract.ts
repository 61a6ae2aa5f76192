/** What every store does with consumers: when they are due, what their runs take, how they sleep and wake. */
import { describe, expect, it } from "vitest";
import type { Session, Settled } from "../../src/state/events/event-store.js";
import { EventScene, goesOn, key, type OpenEventSubject } from "./event-scene.js";

const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;

export function describeSessions(kind: string, open: OpenEventSubject): void {
  describe(`a consumer that is due on a ${kind}`, () => {
    it("has something pending, is defined, and is not running", async () => {
      const scene = await EventScene.open(open);
      expect(await scene.tryBegin()).toBe("no_work");
      await scene.publish("in", "a");
      await scene.begin();
      expect(await scene.tryBegin()).toBe("running");
      expect(await scene.activity()).toBe("running");
    });

    it("has the publication of its oldest pending event as its slot", async () => {
      const scene = await EventScene.open(open, { subscribes: [{ topic: "in" }, { topic: "out" }] });
      await scene.publish("out", "old");
      await scene.clock.advance("1m");
      await scene.publish("in", "a");
      const session = await scene.begin();
      expect(session).toMatchObject({ slot: new Date("2026-03-01T00:00:00.000Z"), phase: "prepare" });
      expect(session).toMatchObject({ pendingCount: 2, tries: 0, run: undefined, state: undefined });
      expect(await scene.peek()).toEqual(["old", "a"]);
      expect(await scene.peek("file", 1)).toEqual(["old"]);
      const settled = await scene.settle(
        session,
        {
          kind: "committed",
          events: [{ topic: "out", ids: ["old"] }],
        },
        { ends: "session" },
      );
      expect(goesOn(settled)).toBe(false);
      expect((await scene.begin()).slot).toEqual(new Date("2026-03-01T00:01:00.000Z"));
    });

    it("is due at once when the clock was set back since the event was published", async () => {
      const scene = await EventScene.open(open);
      await scene.publish("in", "a");
      scene.clock.jump(-HOUR_MS);
      expect(await scene.activity()).toBe("ready");
      expect((await scene.begin()).pendingCount).toBe(1);
    });

    it("begins once for a token, and a caller may repeat the call", async () => {
      const scene = await EventScene.open(open);
      await scene.publish("in", "a");
      const request = { ...key("file"), token: "t", jobId: "job-t" };
      const first = await scene.events.begin(request);
      expect(await scene.events.begin(request)).toEqual(first);
      expect(await scene.events.begin({ ...request, token: "u" })).toBe("running");
    });
  });

  describe(`runs of a session on a ${kind}`, () => {
    it.each([
      [3, 1, 3],
      [100, 7, 15],
    ])("take %i events by %i in %i runs without a pause", async (count, batch, expected) => {
      const scene = await EventScene.open(open);
      await scene.publish("in", ...Array.from({ length: count }, (_, index) => `e${index}`));
      const session = await scene.begin();
      let runs = 0;
      for (let isOn = true; isOn; runs++) isOn = await scene.take(session, await scene.peek("file", batch));
      expect(runs).toBe(expected);
      expect(await scene.activity()).toBe("idle");
      expect(await scene.tryBegin()).toBe("no_work");
    });

    it("go on with what was published while they ran", async () => {
      const scene = await EventScene.open(open);
      await scene.publish("in", "a");
      const session = await scene.begin();
      await scene.publish("in", "b");
      expect(await scene.take(session, ["a"])).toBe(true);
      expect(await scene.take(session, ["b"])).toBe(false);
    });

    it("go on with what a run published to its own topic", async () => {
      const scene = await EventScene.open(open);
      await scene.publish("in", "a");
      const session = await scene.begin();
      const settled = await scene.settle(session, {
        kind: "committed",
        events: [{ topic: "in", ids: ["a"] }],
        publish: [{ topic: "in", id: "b", payload: "1" }],
      });
      expect(settled).toMatchObject({ goesOn: true, isEnded: false, pendingCount: 1 });
      expect(await scene.take(session, ["b"])).toBe(false);
    });

    it("write consumed events, published events and state together, or nothing", async () => {
      const scene = await EventScene.open(open);
      await scene.publish("in", "a");
      const session = await scene.begin();
      const events = [{ topic: "in", ids: ["a"] }];
      const commit = (topic: string): Promise<Settled> =>
        scene.settle(session, {
          kind: "committed",
          events,
          publish: [
            { topic: "out", id: "x", payload: "1" },
            { topic, id: "y", payload: "1" },
          ],
          state: '"done"',
        });
      await expect(commit("nowhere")).rejects.toMatchObject({ code: "UNKNOWN_TOPIC" });
      expect(await scene.peek()).toEqual(["a"]);
      expect(await scene.events.list("out", { limit: 9 })).toEqual([]);
      expect(await scene.status()).toMatchObject({ state: undefined, activity: "running" });
      expect(await commit("out")).toEqual({
        result: "settled",
        goesOn: false,
        isEnded: true,
        pendingCount: 0,
        published: [
          { seq: 1, isNew: true },
          { seq: 2, isNew: true },
        ],
      });
      const { state, last } = await scene.status();
      expect(state).toBe('"done"');
      expect(last).toMatchObject({ outcome: "committed", mutation: "none", error: null });
    });

    it("return the same when a settle is repeated, and change nothing a second time", async () => {
      const scene = await EventScene.open(open);
      await scene.publish("in", "a", "b");
      const session = await scene.begin();
      const settle = (): Promise<Settled> =>
        scene.settle(
          session,
          {
            kind: "committed",
            events: [{ topic: "in", ids: ["a"] }],
            publish: [{ topic: "out", id: "x", payload: "1" }],
          },
          { key: "run-a" },
        );
      const first = await settle();
      expect(await settle()).toEqual({ ...first, published: [{ seq: 1, isNew: false }] });
      expect(await scene.peek()).toEqual(["b"]);
      expect(goesOn(await scene.settle(session, { kind: "unused" }, { ends: "session" }))).toBe(false);
      expect(await settle()).toMatchObject({ result: "settled", goesOn: false, isEnded: true });
    });

    it("refuse to take nothing without a sleep, which would never end", async () => {
      const scene = await EventScene.open(open);
      await scene.publish("in", "a");
      const session = await scene.begin();
      await expect(scene.settle(session, { kind: "committed" })).rejects.toMatchObject({
        code: "NOTHING_TAKEN",
      });
      expect(await scene.reserve(session, ["a"])).toBe("reserved");
      await expect(scene.takeNothing(session)).rejects.toMatchObject({ code: "RUN_OPEN" });
    });

    it("may give a session back unused: the consumer is as it was", async () => {
      const scene = await EventScene.open(open);
      await scene.publish("in", "a");
      await scene.takeNothing(await scene.begin());
      const manual = await scene.begin("file", true);
      await scene.settle(manual, { kind: "unused" }, { ends: "session" });
      expect(await scene.activity()).toBe("sleeping");
    });
  });

  describe(`sleep and wake on a ${kind}`, () => {
    it("lets a consumer that takes nothing look every sleep timeout, never earlier", async () => {
      const scene = await EventScene.open(open);
      await scene.publish("in", "a");
      expect(await scene.takeNothing(await scene.begin())).toBe(false);
      expect(await scene.status()).toMatchObject({
        activity: "sleeping",
        wakesAt: new Date("2026-03-01T00:05:00.000Z"),
        wakesOn: ["in"],
      });
      await scene.clock.advance(299_999);
      expect(await scene.tryBegin()).toBe("not_due");
      await scene.clock.advance(1);
      let looks = 1;
      for (let minute = 0; minute <= 1_000; minute++) {
        const session = await scene.tryBegin();
        if (typeof session !== "string") {
          looks++;
          await scene.takeNothing(session);
        }
        if (minute < 1_000) await scene.clock.advance("1m");
      }
      expect(looks).toBe(202);
    });

    it("looks again at once when the run itself published to its topic", async () => {
      const scene = await EventScene.open(open);
      await scene.publish("in", "a");
      const session = await scene.begin();
      const settled = await scene.settle(session, {
        kind: "nothing",
        wakesAt: new Date(scene.clock.now().getTime() + HOUR_MS),
        wakes: "asked",
        publish: [{ topic: "in", id: "b", payload: "1" }],
      });
      expect(goesOn(settled)).toBe(true);
      expect(await scene.takeNothing(session)).toBe(false);
    });

    it("stays awake when an event came while the run looked", async () => {
      const scene = await EventScene.open(open);
      await scene.publish("in", "a");
      const session = await scene.begin();
      await scene.publish("in", "b");
      expect(await scene.takeNothing(session)).toBe(true);
      // The next run has seen it.
      expect(await scene.takeNothing(session)).toBe(false);
      expect(await scene.activity()).toBe("sleeping");
    });

    it("stays awake when an event came between two runs of a session", async () => {
      const scene = await EventScene.open(open);
      await scene.publish("in", "a", "b");
      const session = await scene.begin();
      expect(await scene.take(session, ["a"])).toBe(true);
      await scene.publish("in", "c");
      const kept = { ends: "run" } as const;
      const wakesAt = new Date(scene.clock.now().getTime() + HOUR_MS);
      const nothing = { kind: "nothing", wakesAt, wakes: "asked" } as const;
      expect(goesOn(await scene.settle(session, nothing, kept))).toBe(true);
      expect(goesOn(await scene.settle(session, nothing, kept))).toBe(false);
      await scene.settle(session, { kind: "unused" }, { ends: "session" });
      expect(await scene.activity()).toBe("sleeping");
    });

    it("wakes by an event, and takes what was asleep with it: one commit of two", async () => {
      const scene = await EventScene.open(open);
      await scene.publish("in", "a");
      await scene.takeNothing(await scene.begin());
      await scene.clock.advance("1m");
      expect(await scene.tryBegin()).toBe("not_due");
      await scene.publish("in", "b");
      expect(await scene.take(await scene.begin(), ["a", "b"])).toBe(false);
    });

    it("wakes by a new payload of a pending event, and by no other event's", async () => {
      const scene = await EventScene.open(
        open,
        {},
        {
          consumers: [
            { ...key("file"), subscribes: [{ topic: "in" }] },
            { ...key("other"), subscribes: [{ topic: "in" }] },
          ],
        },
      );
      await scene.publish("in", "a", "b");
      const other = await scene.begin("other");
      await scene.take(other, ["a"]);
      await scene.takeNothing(other);
      await scene.takeNothing(await scene.begin());
      await scene.publishOne("in", "b", "b");
      expect([await scene.activity(), await scene.activity("other")]).toEqual(["sleeping", "sleeping"]);
      await scene.publishOne("in", "a", "new");
      expect([await scene.activity(), await scene.activity("other")]).toEqual(["ready", "sleeping"]);
    });

    it("does not wake by a new payload of an event that a run had reserved, or that is consumed", async () => {
      const scene = await EventScene.open(open);
      await scene.publish("in", "a", "b", "c");
      const session = await scene.begin();
      await scene.reserve(session, ["a"], false);
      await scene.publishOne("in", "a", "new");
      await scene.settle(session, { kind: "committed" }, { key: "run-1", ends: "run" });
      await scene.publishOne("in", "a", "newer");
      expect(await scene.takeNothing(session)).toBe(false);
      expect(await scene.activity()).toBe("sleeping");
    });

    it("survives a restart", async () => {
      const scene = await EventScene.open(open);
      await scene.publish("in", "a");
      await scene.takeNothing(await scene.begin());
      await scene.restart();
      expect(await scene.tryBegin()).toBe("not_due");
      await scene.publish("in", "b");
      expect(await scene.activity()).toBe("ready");
    });

    it("ends when its agent is resumed, and by a manual trigger for one session", async () => {
      const scene = await EventScene.open(open);
      await scene.publish("in", "a");
      await scene.takeNothing(await scene.begin(), DAY_MS);
      expect((await scene.begin("file", true)).pendingCount).toBe(1);
      await scene.restart();
      await scene.takeNothing(await scene.begin(), DAY_MS);
      await scene.events.wake("stranger");
      expect(await scene.activity()).toBe("sleeping");
      await scene.events.wake("mail");
      expect(await scene.activity()).toBe("ready");
    });

    it("of a consumer that was defined as before goes on; a new topic ends it", async () => {
      const scene = await EventScene.open(open);
      await scene.publish("in", "a");
      await scene.takeNothing(await scene.begin());
      const topics = [{ topic: "in" }, { topic: "out" }];
      const consumer = { ...key("file"), subscribes: [{ topic: "in" }] };
      await scene.events.define({ topics, consumers: [consumer], producers: [] });
      expect(await scene.activity()).toBe("sleeping");
      await scene.events.define({ topics, consumers: [{ ...consumer, subscribes: topics }], producers: [] });
      expect(await scene.activity()).toBe("ready");
      await scene.takeNothing(await scene.begin());
      await scene.publish("out", "b");
      expect(await scene.activity()).toBe("ready");
    });

    it("lets a window of an hour commit at its 13th look", async () => {
      const scene = await EventScene.open(open);
      await scene.publish("in", "a");
      let looks = 0;
      const commits: string[] = [];
      for (let minute = 0; minute <= 90; minute++) {
        const session = await scene.tryBegin();
        if (typeof session !== "string") {
          looks++;
          const [event] = await scene.events.peek(session, { limit: 1 });
          const isOld =
            event !== undefined && event.publishedAt.getTime() + HOUR_MS <= scene.clock.now().getTime();
          if (isOld) commits.push(`${looks} at ${scene.clock.now().toISOString().slice(11, 19)}`);
          await (isOld ? scene.take(session, ["a"]) : scene.takeNothing(session));
        }
        await scene.clock.advance("1m");
      }
      expect(commits).toEqual(["13 at 01:00:00"]);
      expect(looks).toBe(13);
    });

    it("lets a threshold of ten commit once, at the tenth event", async () => {
      const scene = await EventScene.open(open);
      const taken: number[] = [];
      let looks = 0;
      for (let second = 1; second <= 10; second++) {
        await scene.publish("in", `e${second}`);
        const session = await scene.begin();
        looks++;
        const ids = await scene.peek();
        if (ids.length >= 10) taken.push(ids.length);
        await (ids.length >= 10 ? scene.take(session, ids) : scene.takeNothing(session));
        await scene.clock.advance("1s");
      }
      expect([looks, taken]).toEqual([10, [10]]);
      expect(await scene.tryBegin()).toBe("no_work");
    });

    it("loses no wake where publishers and a run that falls asleep meet", async () => {
      const scene = await EventScene.open(open);
      await scene.publish("in", "first");
      for (let round = 0; round < 50; round++) {
        const session = await scene.begin();
        const calls = [scene.takeNothing(session, DAY_MS), scene.publish("in", `e${round}`)];
        await Promise.all(round % 2 === 0 ? calls : calls.toReversed());
        // Within the session or after it, the consumer looks again.
        await scene.settle(session, { kind: "unused" }, { ends: "session" });
        expect(await scene.activity()).toBe("ready");
      }
    });
  });

  describe(`reservations on a ${kind}`, () => {
    const opened = async (): Promise<[EventScene, Session]> => {
      const scene = await EventScene.open(open);
      await scene.publish("in", "1", "2", "3");
      return [scene, await scene.begin()];
    };

    it("reserve all the events or none, and name the ids that are not pending", async () => {
      const [scene, session] = await opened();
      const reserving = scene.reserve(session, ["1", "ghost"]);
      await expect(reserving).rejects.toMatchObject({ code: "EVENTS_NOT_PENDING", ids: ["ghost"] });
      expect(await scene.peek()).toEqual(["1", "2", "3"]);
      const elsewhere = { key: "k", events: [{ topic: "out", ids: ["1"] }], prepared: "0", isIntent: true };
      await expect(scene.events.reserve(session, elsewhere)).rejects.toMatchObject({ ids: ["1"] });
      await expect(scene.reserve(session, [])).rejects.toMatchObject({ code: "NOTHING_TAKEN" });
      expect(await scene.status()).toMatchObject({ run: undefined, activity: "running" });
    });

    it("keep what the run needs later, and the intent, by the same write", async () => {
      const [scene, session] = await opened();
      expect(await scene.reserve(session, ["2", "1"])).toBe("reserved");
      const { run } = await scene.status();
      expect(run).toMatchObject({
        key: "run-1",
        reservations: [["in", [1, 2]]],
        prepared: '{"n":1}',
        title: "Run",
        mutation: { kind: "intended" },
        job_id: session.jobId,
      });
      expect(await scene.peek()).toEqual(["3"]);
      const found = await scene.events.get(key("file"), { topic: "in", ids: ["3", "1", "9"] });
      expect(found.map(({ id, isReserved }) => [id, isReserved])).toEqual([
        ["3", false],
        ["1", true],
      ]);
    });

    it("are made once for a key, and never twice at a time", async () => {
      const [scene, session] = await opened();
      await scene.reserve(session, ["1"]);
      expect(await scene.reserve(session, ["1"])).toBe("reserved");
      await expect(scene.reserve(session, ["2"], true, "run-2")).rejects.toMatchObject({ code: "RUN_OPEN" });
      await expect(
        scene.settle(session, { kind: "committed", events: [{ topic: "in", ids: ["2"] }] }),
      ).rejects.toMatchObject({ code: "RUN_OPEN" });
      expect(await scene.peek()).toEqual(["2", "3"]);
    });

    it("are consumed by the commit of their run, and nothing else is", async () => {
      const [scene, session] = await opened();
      await scene.reserve(session, ["1", "3"]);
      const applied = { kind: "applied", result: '{"row":5}' } as const;
      expect(await scene.events.noteMutation(session, applied)).toBe("noted");
      expect(await scene.events.noteMutation(session, applied)).toBe("noted");
      const settled = await scene.settle(session, { kind: "committed" }, { key: "run-1" });
      expect(settled).toMatchObject({ goesOn: true, pendingCount: 1 });
      expect(await scene.peek()).toEqual(["2"]);
      expect((await scene.status()).last).toMatchObject({ key: "run-1", mutation: "applied" });
    });

    it("of other consumers are not in the way", async () => {
      const subscribes = [{ topic: "in" }];
      const consumers = [
        { ...key("file"), subscribes },
        { ...key("other"), subscribes },
      ];
      const scene = await EventScene.open(open, {}, { consumers });
      await scene.publish("in", "1");
      const [first, second] = [await scene.begin(), await scene.begin("other")];
      expect(await scene.reserve(first, ["1"])).toBe("reserved");
      expect(await scene.reserve(second, ["1"], true, "run-2")).toBe("reserved");
    });

    it("end neither committed, failed nor for a retry while it is open what the run changed", async () => {
      const [scene, session] = await opened();
      await scene.reserve(session, ["1"]);
      const retryAt = new Date(scene.clock.now().getTime() + 1);
      for (const outcome of [
        { kind: "committed" },
        { kind: "failed", error: "no" },
        { kind: "transient", error: "busy", retryAt },
        { kind: "released" },
      ] as const)
        await expect(scene.settle(session, outcome, { key: "run-1" })).rejects.toMatchObject({
          code: "MUTATION_UNDECIDED",
        });
      await expect(scene.settle(session, { kind: "unused" })).rejects.toMatchObject({ code: "RUN_OPEN" });
      expect((await scene.status()).run?.mutation).toEqual({ kind: "intended" });
    });

    it("of a run without an intent have no change to note", async () => {
      const [scene, session] = await opened();
      const applied = { kind: "applied", result: "1" } as const;
      await expect(scene.events.noteMutation(session, applied)).rejects.toMatchObject({ code: "NO_INTENT" });
      await scene.reserve(session, ["1"], false);
      await expect(scene.events.noteMutation(session, applied)).rejects.toMatchObject({ code: "NO_INTENT" });
    });
  });
}
