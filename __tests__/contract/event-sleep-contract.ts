/** What every store does with a consumer that took nothing: how it sleeps, and what wakes it. */
import { describe, expect, it } from "vitest";
import { EventScene, goesOn, key, type OpenEventSubject } from "./event-scene.js";

const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;

export function describeSleep(kind: string, open: OpenEventSubject): void {
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
}
