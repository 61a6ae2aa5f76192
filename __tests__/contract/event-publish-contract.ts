/** What every store does with topics: publishing, subscriptions, what is kept and what is forgotten. */
import { describe, expect, it } from "vitest";
import { definitions, EventScene, key, type OpenEventSubject } from "./event-scene.js";

const DAY_MS = 86_400_000;

export function describePublishing(kind: string, open: OpenEventSubject): void {
  describe(`publishing to a ${kind}`, () => {
    it("numbers the events of each topic from 1, and makes them pending for every subscription", async () => {
      const scene = await EventScene.open(
        open,
        {},
        {
          consumers: [
            { ...key("file"), subscribes: [{ topic: "in" }] },
            { ...key("both"), subscribes: [{ topic: "in" }, { topic: "out" }] },
          ],
        },
      );
      expect(await scene.publish("in", "a", "b")).toEqual([1, 2]);
      expect(await scene.publish("out", "c")).toEqual([1]);
      expect(await scene.peek("file")).toEqual(["a", "b"]);
      expect((await scene.peek("both")).toSorted()).toEqual(["a", "b", "c"]);
      expect(await scene.events.counts(key("both"))).toEqual(
        new Map([
          ["in", 2],
          ["out", 1],
        ]),
      );
    });

    it("returns the number of a known id, and replaces its payload", async () => {
      const scene = await EventScene.open(open);
      expect(await scene.publishOne("in", "a", 1)).toEqual({ seq: 1, isNew: true });
      expect(await scene.publishOne("in", "a", 2)).toEqual({ seq: 1, isNew: false });
      expect(await scene.publishOne("out", "a", 3)).toEqual({ seq: 1, isNew: true });
      const [event] = await scene.events.peek(key("file"), { limit: 9 });
      expect(event).toEqual({
        topic: "in",
        seq: 1,
        id: "a",
        payload: "2",
        publishedAt: scene.clock.now(),
        attempt: 1,
        isReserved: false,
      });
    });

    it("keeps a consumed event consumed when its id comes again, also after a restart", async () => {
      const scene = await EventScene.open(open);
      await scene.publish("in", "a");
      await scene.take(await scene.begin(), ["a"]);
      expect(await scene.publishOne("in", "a", "again")).toEqual({ seq: 1, isNew: false });
      await scene.restart();
      expect(await scene.publishOne("in", "a", "and again")).toEqual({ seq: 1, isNew: false });
      expect(await scene.peek()).toEqual([]);
      expect(await scene.activity()).toBe("idle");
      const kept = await scene.events.list("in", { limit: 9 });
      expect(kept).toMatchObject([{ id: "a", payload: '"and again"', pendingFor: [] }]);
    });

    it("publishes all events of a call or none", async () => {
      const scene = await EventScene.open(open);
      const good = { topic: "in", id: "a", payload: "1" };
      const long = `"${"é".repeat(500_000)}"`;
      const refused = [
        [{ ...good, topic: "elsewhere" }, "UNKNOWN_TOPIC"],
        [{ ...good, topic: "" }, "INVALID_EVENT"],
        [{ ...good, id: "" }, "INVALID_EVENT"],
        [{ ...good, id: "a\0" }, "INVALID_EVENT"],
        [{ ...good, id: "\ud800" }, "INVALID_EVENT"],
        [{ ...good, id: "b".repeat(513) }, "INVALID_EVENT"],
        [{ ...good, payload: String.raw`"\u0000"` }, "INVALID_PAYLOAD"],
        [{ ...good, payload: String.raw`"\ud83d"` }, "INVALID_PAYLOAD"],
        [{ ...good, payload: long }, "PAYLOAD_TOO_LARGE"],
      ] as const;
      for (const [bad, code] of refused)
        await expect(scene.events.publish([good, bad])).rejects.toMatchObject({ code });
      expect(await scene.peek()).toEqual([]);
      expect(await scene.publish("in", "b")).toEqual([1]);
    });

    it("takes the later payload where an id comes twice in one call", async () => {
      const scene = await EventScene.open(open);
      const twice = [1, 2].map((payload) => ({ topic: "in", id: "a", payload: String(payload) }));
      expect(await scene.events.publish(twice)).toEqual([
        { seq: 1, isNew: true },
        { seq: 1, isNew: false },
      ]);
      expect(await scene.events.get(key("file"), { topic: "in", ids: ["a", "b"] })).toMatchObject([
        { payload: "2" },
      ]);
    });

    it("gives calls at the same time different numbers, and loses none of their events", async () => {
      const scene = await EventScene.open(open);
      const ids = Array.from({ length: 50 }, (_, index) => `e${index}`);
      const seqs = await Promise.all(ids.map((id) => scene.publish("in", id)));
      expect(new Set(seqs.flat()).size).toBe(50);
      expect((await scene.peek()).toSorted()).toEqual(ids.toSorted());
    });

    it("keeps events, states and numbers through a restart", async () => {
      const scene = await EventScene.open(open);
      await scene.publish("in", "a", "b");
      await scene.events.produce({ ...key("poll"), publish: [], state: '{"cursor":7}' });
      await scene.restart();
      expect(await scene.peek()).toEqual(["a", "b"]);
      expect(await scene.events.producerState(key("poll"))).toBe('{"cursor":7}');
      expect(await scene.publish("in", "c")).toEqual([3]);
    });

    it("makes no consumer due by events of a topic without subscriptions", async () => {
      const scene = await EventScene.open(open);
      await scene.publish("out", ...Array.from({ length: 77 }, (_, index) => `e${index}`));
      await scene.clock.advance("1h");
      expect(await scene.tryBegin()).toBe("no_work");
      expect(await scene.events.list("out", { limit: 100 })).toHaveLength(77);
    });

    it("lists kept events by number, from either end", async () => {
      const scene = await EventScene.open(open);
      await scene.publish("in", "a", "b", "c");
      await scene.take(await scene.begin(), ["b"]);
      const list = async (options: object): Promise<string[]> =>
        (await scene.events.list("in", { limit: 2, ...options })).map(({ id }) => id);
      expect(await list({})).toEqual(["a", "b"]);
      expect(await list({ afterSeq: 2 })).toEqual(["c"]);
      expect(await list({ isNewestFirst: true })).toEqual(["c", "b"]);
      const [first, second] = await scene.events.list("in", { limit: 2 });
      expect([first?.pendingFor, second?.pendingFor]).toEqual([[key("file")], []]);
    });

    it("tells listeners which consumers may have work, and does not mind one that throws", async () => {
      const scene = await EventScene.open(open);
      const heard: unknown[] = [];
      scene.events.onPublished(() => {
        throw new Error("no");
      });
      const stop = scene.events.onPublished((consumers) => heard.push(...consumers));
      await scene.publish("out", "x");
      expect(heard).toEqual([]);
      await scene.publish("in", "a");
      expect(heard).toEqual([key("file")]);
      stop();
      await scene.publish("in", "b");
      expect(heard).toHaveLength(1);
    });
  });

  describe(`a producer's run on a ${kind}`, () => {
    it("writes its events and its state together, or nothing", async () => {
      const scene = await EventScene.open(open);
      const events = ["a", "b", "c"].map((id) => ({ topic: "in", id, payload: "1" }));
      const bad = { topic: "nowhere", id: "d", payload: "1" };
      const producing = scene.events.produce({ ...key("poll"), publish: [...events, bad], state: '"new"' });
      await expect(producing).rejects.toMatchObject({ code: "UNKNOWN_TOPIC" });
      expect(await scene.peek()).toEqual([]);
      expect(await scene.events.producerState(key("poll"))).toBeUndefined();
      const published = await scene.events.produce({ ...key("poll"), publish: events, state: '"new"' });
      expect(published.map(({ seq }) => seq)).toEqual([1, 2, 3]);
      await scene.events.produce({ ...key("poll"), publish: [] });
      expect(await scene.events.producerState(key("poll"))).toBe('"new"');
      const unknown = scene.events.produce({ ...key("stranger"), publish: [] });
      await expect(unknown).rejects.toMatchObject({ code: "UNKNOWN_PRODUCER" });
    });
  });

  describe(`subscriptions of a ${kind}`, () => {
    it("begin with events from now on, or with all that are kept", async () => {
      const scene = await EventScene.open(open);
      await scene.publish("in", "a", "b", "c");
      await scene.take(await scene.begin(), ["b"]);
      const late = (
        name: string,
        from: "now" | "start",
      ): ReturnType<typeof definitions>["consumers"][number] => ({
        ...key(name),
        subscribes: [{ topic: "in", from }],
      });
      const all = definitions(
        {},
        {
          consumers: [...definitions().consumers, late("new", "now"), late("old", "start")],
        },
      );
      await scene.events.define(all);
      await scene.publish("in", "d");
      expect(await scene.peek("new")).toEqual(["d"]);
      expect(await scene.peek("old")).toEqual(["a", "b", "c", "d"]);
      expect(await scene.peek("file")).toEqual(["a", "c", "d"]);
      const kept = await scene.events.list("in", { limit: 9 });
      expect(kept.map(({ id, pendingFor }) => [id, pendingFor.length])).toEqual([
        ["a", 2],
        ["b", 1],
        ["c", 2],
        ["d", 3],
      ]);
      // Defined as before: nothing begins anew.
      await scene.events.define(all);
      expect(await scene.peek("old")).toEqual(["a", "b", "c", "d"]);
    });

    it("are refused for a topic that is not declared, and nothing is defined then", async () => {
      const scene = await EventScene.open(open);
      const wrong = definitions({ subscribes: [{ topic: "typo" }] }, { topics: [{ topic: "new" }] });
      await expect(scene.events.define(wrong)).rejects.toMatchObject({ code: "UNKNOWN_TOPIC" });
      expect((await scene.events.topics()).map(({ topic }) => topic)).toEqual(["in", "out"]);
      await expect(scene.events.peek(key("stranger"), { limit: 1 })).rejects.toMatchObject({
        code: "UNKNOWN_CONSUMER",
      });
    });

    it("of a removed consumer keep their pending events, get no new ones, and go on when it comes back", async () => {
      const scene = await EventScene.open(open);
      await scene.publish("in", "a");
      await scene.events.define(definitions({}, { consumers: [] }));
      await scene.publish("in", "b");
      expect(await scene.tryBegin()).toBe("undefined");
      await scene.clock.advance(30 * DAY_MS - 1);
      expect((await scene.events.prune()).subscriptions).toEqual([]);
      await scene.events.define(definitions());
      await scene.publish("in", "c");
      expect(await scene.activity()).toBe("ready");
      expect(await scene.peek()).toEqual(["a", "c"]);
    });

    it.each([
      ["30 days later", 30 * DAY_MS, false],
      ["at once when asked", 0, true],
    ])("of a removed consumer are pruned %s", async (_, ms, isAsked) => {
      const scene = await EventScene.open(open);
      await scene.publish("in", "a", "b");
      await scene.events.define(definitions({}, { consumers: [] }));
      await scene.clock.advance(ms);
      expect((await scene.events.prune({ isAsked })).subscriptions).toEqual([
        { ...key("file"), topic: "in", pendingCount: 2 },
      ]);
      expect(await scene.events.consumers()).toEqual([]);
      await scene.restart();
      await scene.events.define(definitions());
      expect(await scene.peek()).toEqual([]);
    });

    it("of a removed consumer outlast a prune while a run has its events", async () => {
      const scene = await EventScene.open(open);
      await scene.publish("in", "a");
      const session = await scene.begin();
      await scene.reserve(session, ["a"]);
      await scene.events.define(definitions({}, { consumers: [] }));
      expect((await scene.events.prune({ isAsked: true })).subscriptions).toEqual([]);
      await scene.events.noteMutation(session, { kind: "applied", result: "1" });
      const settled = await scene.settle(session, { kind: "committed" }, { key: "run-1" });
      expect(settled).toMatchObject({ result: "settled", goesOn: false, isEnded: true });
    });

    it("that a consumer gives up keep its pending events apart", async () => {
      const both = [{ topic: "in" }, { topic: "out" }];
      const scene = await EventScene.open(open, { subscribes: both });
      await scene.publish("in", "a");
      await scene.publish("out", "b");
      await scene.events.define(definitions());
      expect(await scene.peek()).toEqual(["a"]);
      const [, out] = await scene.events.topics();
      expect(out?.subscriptions).toMatchObject([{ pendingCount: 1, removedAt: scene.clock.now() }]);
      await scene.events.define(definitions({ subscribes: both }));
      expect((await scene.peek()).toSorted()).toEqual(["a", "b"]);
    });
  });

  describe(`what a ${kind} forgets of events`, () => {
    it("is what was consumed before the retention; a pending event is never among it", async () => {
      const topics = [{ topic: "in", retentionMs: DAY_MS }, { topic: "out" }];
      const scene = await EventScene.open(open, {}, { topics });
      await scene.publish("in", "a", "b", "c");
      const taking = { kind: "committed", events: [{ topic: "in", ids: ["a", "b"] }] } as const;
      await scene.settle(await scene.begin(), taking, { ends: "session" });
      await scene.clock.advance(DAY_MS);
      await scene.events.prune();
      expect(await scene.events.list("in", { limit: 9 })).toHaveLength(3);
      await scene.clock.advance(1);
      expect(await scene.events.prune({ isAsked: true })).toEqual({ topics: ["in"], subscriptions: [] });
      expect(await scene.events.list("in", { limit: 9 })).toMatchObject([{ id: "c" }]);
      expect(await scene.peek()).toEqual(["c"]);
      // Its id is forgotten too, and no number comes twice.
      expect(await scene.publishOne("in", "a", 1)).toEqual({ seq: 4, isNew: true });
      expect(await scene.publishOne("in", "c", 1)).toMatchObject({ isNew: false });
    });
  });
}
