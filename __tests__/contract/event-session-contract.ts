/** What every store does with consumers: when they are due, and what their runs take. */
import { describe, expect, it } from "vitest";
import type { Session, Settled } from "../../src/state/events/event-store.js";
import { EventScene, goesOn, key, type OpenEventSubject } from "./event-scene.js";

const HOUR_MS = 3_600_000;

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
