/** What every store does when a run does not commit: retries, failures, suspended runs, killed processes, late calls. */
import { describe, expect, it } from "vitest";
import type { ConsumerDefinition, Session } from "../../src/state/events/event-store.js";
import { definitions, EventScene, goesOn, key, LEASE_MS, type OpenEventSubject } from "./event-scene.js";

const APPLIED = { kind: "applied", result: '{"row":5}' } as const;
const FIVE_PAST = new Date("2026-03-01T00:05:00.000Z");

export function describeRecovery(kind: string, open: OpenEventSubject): void {
  /** A session whose run has reserved the first of two events. */
  const reserved = async (
    isIntent = true,
    consumer: Partial<ConsumerDefinition> = {},
  ): Promise<[EventScene, Session]> => {
    const scene = await EventScene.open(open, consumer);
    await scene.publish("in", "1", "2");
    const session = await scene.begin();
    await scene.reserve(session, ["1"], isIntent);
    return [scene, session];
  };
  const attempts = async (scene: EventScene): Promise<(readonly [string, number])[]> => {
    const events = await scene.events.peek(key("file"), { limit: 9 });
    return events.map(({ id, attempt }) => [id, attempt] as const);
  };
  const suspended = async (consumer: Partial<ConsumerDefinition> = {}): Promise<[EventScene, Session]> => {
    const [scene, session] = await reserved(true, consumer);
    await scene.settle(session, { kind: "suspended", error: "timed out" }, { key: "run-1" });
    return [scene, session];
  };

  describe(`a transient error on a ${kind}`, () => {
    const transient = { kind: "transient", error: "busy", retryAt: FIVE_PAST } as const;

    it("before the change gives the events back with another attempt, and waits whatever is published", async () => {
      const [scene, session] = await reserved(false);
      expect(goesOn(await scene.settle(session, transient, { key: "run-1" }))).toBe(false);
      expect(await attempts(scene)).toEqual([
        ["1", 2],
        ["2", 1],
      ]);
      await scene.publish("in", "3");
      expect(await scene.status()).toMatchObject({ activity: "waiting", wakesAt: FIVE_PAST, tries: 1 });
      await scene.clock.advance(299_999);
      expect(await scene.tryBegin()).toBe("not_due");
      await scene.clock.advance(1);
      expect(await scene.begin()).toMatchObject({ phase: "prepare", tries: 1, pendingCount: 3 });
    });

    it("keeps its time over a restart", async () => {
      const [scene, session] = await reserved(false);
      await scene.settle(session, transient, { key: "run-1" });
      await scene.clock.advance("1m");
      await scene.restart();
      await scene.events.define(definitions());
      await scene.clock.advance(239_999);
      expect(await scene.tryBegin()).toBe("not_due");
      await scene.clock.advance(1);
      expect(await scene.begin()).toMatchObject({ tries: 1 });
    });

    it("after the change keeps them reserved, and the next run begins at next", async () => {
      const [scene, session] = await reserved();
      await scene.events.noteMutation(session, APPLIED);
      await scene.settle(session, transient, { key: "run-1" });
      expect(await scene.peek()).toEqual(["2"]);
      expect(await scene.tryBegin()).toBe("not_due");
      await scene.clock.advance("5m");
      const again = await scene.begin();
      expect(again).toMatchObject({
        phase: "next",
        run: { key: "run-1", mutation: APPLIED, prepared: '{"n":1}' },
      });
      expect(goesOn(await scene.settle(again, { kind: "committed" }, { key: "run-1" }))).toBe(true);
      expect(await attempts(scene)).toEqual([["2", 1]]);
      expect(await scene.status()).toMatchObject({ tries: 0 });
    });

    it("whose change was surely not made takes the intent back by the same write", async () => {
      const [scene, session] = await reserved();
      await scene.settle(session, transient, { key: "run-1", mutation: "none" });
      expect(await attempts(scene)).toEqual([
        ["1", 2],
        ["2", 1],
      ]);
      expect(await scene.status()).toMatchObject({
        run: undefined,
        last: { outcome: "transient", mutation: "none" },
      });
    });

    it("of a handler raises the attempts of what it had taken, and counts tries until one commits", async () => {
      const scene = await EventScene.open(open);
      await scene.publish("in", "1", "2");
      const events = [{ topic: "in", ids: ["2"] }];
      for (let tries = 0; tries < 3; tries++) {
        const session = await scene.begin();
        expect(session.tries).toBe(tries);
        await scene.settle(session, { kind: "transient", error: "busy", retryAt: scene.clock.now(), events });
      }
      expect(await attempts(scene)).toEqual([
        ["1", 1],
        ["2", 4],
      ]);
      await scene.take(await scene.begin(), ["1"]);
      expect(await scene.status()).toMatchObject({ tries: 0 });
    });

    it("is no obstacle to a manual trigger", async () => {
      const [scene, session] = await reserved(false);
      await scene.settle(session, transient, { key: "run-1" });
      expect(await scene.begin("file", true)).toMatchObject({ tries: 1 });
    });
  });

  describe(`a failed run on a ${kind}`, () => {
    const failed = { kind: "failed", error: "no" } as const;

    it("before the change gives its events back, after it keeps them and is continued at next", async () => {
      const [scene, session] = await reserved(false);
      await scene.settle(session, failed, { key: "run-1" });
      expect(await attempts(scene)).toEqual([
        ["1", 2],
        ["2", 1],
      ]);
      const again = await scene.begin();
      await scene.reserve(again, ["1"], true, "run-2");
      await scene.events.noteMutation(again, APPLIED);
      await scene.settle(again, failed, { key: "run-2" });
      expect(await scene.peek()).toEqual(["2"]);
      expect(await scene.status()).toMatchObject({
        last: { outcome: "failed", error: "no", mutation: "applied" },
      });
      expect(await scene.begin()).toMatchObject({ phase: "next", run: { key: "run-2" } });
    });

    it("that is continued has work with nothing else pending", async () => {
      const scene = await EventScene.open(open);
      await scene.publish("in", "1");
      const session = await scene.begin();
      await scene.reserve(session, ["1"]);
      await scene.events.noteMutation(session, APPLIED);
      await scene.settle(session, failed, { key: "run-1" });
      expect(await scene.begin()).toMatchObject({ phase: "next", pendingCount: 0 });
    });
  });

  describe(`a suspended run on a ${kind}`, () => {
    it("keeps its events, and its consumer is not due for anything", async () => {
      const [scene, session] = await suspended();
      await scene.publish("in", "3");
      await scene.restart();
      expect(await scene.activity()).toBe("suspended");
      expect([await scene.tryBegin(), await scene.tryBegin("file", true)]).toEqual([
        "suspended",
        "suspended",
      ]);
      expect(await scene.peek()).toEqual(["2", "3"]);
      expect((await scene.status()).run).toMatchObject({
        job_id: session.jobId,
        mutation: { kind: "suspended" },
      });
    });

    it("that was not applied gives its events back", async () => {
      const [scene, { jobId }] = await suspended();
      expect(await scene.events.resolve(jobId, { kind: "not-applied", note: "looked" })).toEqual(key("file"));
      expect(await attempts(scene)).toEqual([
        ["1", 2],
        ["2", 1],
      ]);
      expect(await scene.begin()).toMatchObject({ phase: "prepare", run: undefined });
    });

    it.each([
      [{ kind: "skip" } as const, { kind: "skipped" }],
      [APPLIED, APPLIED],
    ])("that is resolved as %j goes to next once, and its events are gone", async (resolution, mutation) => {
      const [scene, { jobId }] = await suspended();
      await scene.events.resolve(jobId, resolution);
      await scene.restart();
      const session = await scene.begin();
      expect(session).toMatchObject({ phase: "next", run: { key: "run-1", mutation } });
      expect(goesOn(await scene.settle(session, { kind: "committed" }, { key: "run-1" }))).toBe(true);
      expect(await scene.peek()).toEqual(["2"]);
      expect((await scene.status()).last?.mutation).toBe(mutation.kind);
    });

    it("is asked again only where its consumer can find out", async () => {
      const [mute, session] = await suspended();
      const asking = mute.events.resolve(session.jobId, { kind: "reconcile" });
      await expect(asking).rejects.toMatchObject({ code: "CANNOT_RECONCILE" });
      expect(await mute.activity()).toBe("suspended");

      const [scene, { jobId }] = await suspended({ canReconcile: true });
      await scene.events.resolve(jobId, { kind: "reconcile" });
      const again = await scene.begin();
      expect(again).toMatchObject({
        phase: "reconcile",
        run: { key: "run-1", mutation: { kind: "intended" } },
      });
      await scene.settle(again, { kind: "suspended", error: "still unknown" }, { key: "run-1" });
      await expect(scene.events.resolve(jobId, { kind: "skip" })).rejects.toMatchObject({
        code: "NOT_SUSPENDED",
      });
      expect(await scene.events.resolve(again.jobId, { kind: "skip" })).toEqual(key("file"));
    });

    it("is resolved once", async () => {
      const [scene, { jobId }] = await suspended();
      await scene.events.resolve(jobId, { kind: "skip" });
      for (const id of [jobId, "job-unknown"])
        await expect(scene.events.resolve(id, { kind: "not-applied" })).rejects.toMatchObject({
          code: "NOT_SUSPENDED",
        });
    });

    it("needs an intent", async () => {
      const [scene, session] = await reserved(false);
      const suspending = scene.settle(session, { kind: "suspended", error: "?" }, { key: "run-1" });
      await expect(suspending).rejects.toMatchObject({ code: "NO_INTENT" });
    });
  });

  describe(`a process that died on a ${kind}`, () => {
    it("before it reserved leaves everything pending, due at once the first time and later after each time", async () => {
      const scene = await EventScene.open(open);
      await scene.publish("in", "1");
      const refusals: unknown[] = [];
      const waits = [0, 60_000, 120_000, 240_000, 240_000];
      for (const waitMs of waits) {
        await scene.begin();
        await scene.restart();
        await scene.publish("in", `after-${waitMs}`);
        await scene.clock.advance(Math.max(0, waitMs - 1));
        if (waitMs > 0) refusals.push(await scene.tryBegin());
        await scene.clock.advance(Math.min(waitMs, 1));
        expect(await scene.status()).toMatchObject({ activity: "ready", last: { outcome: "interrupted" } });
      }
      expect(refusals).toEqual(Array(4).fill("not_due"));
      const taking = { kind: "committed", events: [{ topic: "in", ids: ["1"] }] } as const;
      await scene.settle(await scene.begin(), taking, { ends: "session" });
      await scene.begin();
      await scene.restart();
      expect(await scene.activity()).toBe("ready");
    });

    it("before the intent gives the events back", async () => {
      const [scene] = await reserved(false);
      await scene.restart();
      expect(await attempts(scene)).toEqual([
        ["1", 2],
        ["2", 1],
      ]);
      expect(await scene.begin()).toMatchObject({ phase: "prepare" });
    });

    it("after the intent leaves a suspended run where the consumer cannot find out", async () => {
      const [scene, { jobId }] = await reserved();
      await scene.restart();
      expect(await scene.status()).toMatchObject({ activity: "suspended", last: { outcome: "suspended" } });
      expect(await scene.peek()).toEqual(["2"]);
      expect(await scene.events.resolve(jobId, { kind: "not-applied" })).toEqual(key("file"));
      expect(await scene.peek()).toEqual(["1", "2"]);
    });

    it("after the intent is due at once where the consumer can find out, and applied means once", async () => {
      const [scene] = await reserved(true, { canReconcile: true });
      await scene.restart();
      const session = await scene.begin();
      expect(session).toMatchObject({ phase: "reconcile", run: { key: "run-1" } });
      await scene.events.noteMutation(session, APPLIED);
      expect(goesOn(await scene.settle(session, { kind: "committed" }, { key: "run-1" }))).toBe(true);
      expect(await scene.peek()).toEqual(["2"]);
    });

    it("after the intent is due at once where the consumer can find out, and not-applied means a second run", async () => {
      const [scene] = await reserved(true, { canReconcile: true });
      await scene.restart();
      const session = await scene.begin();
      const settled = await scene.settle(session, { kind: "released" }, { key: "run-1", mutation: "none" });
      expect(settled).toMatchObject({ goesOn: true, pendingCount: 2 });
      expect(await scene.reserve(session, ["1"], true, "run-2")).toBe("reserved");
    });

    it("is suspended when a deploy takes its reconcile away before it was asked", async () => {
      const [scene, { jobId }] = await reserved(true, { canReconcile: true });
      await scene.restart();
      await scene.events.define(definitions());
      expect(await scene.activity()).toBe("suspended");
      await scene.events.resolve(jobId, { kind: "skip" });
      expect(await scene.begin()).toMatchObject({ phase: "next" });
    });

    it("after the change was noted goes on at next, with the same key and result", async () => {
      const [scene, session] = await reserved();
      await scene.events.noteMutation(session, APPLIED);
      await scene.restart();
      expect(await scene.peek()).toEqual(["2"]);
      expect(await scene.begin()).toMatchObject({ phase: "next", run: { key: "run-1", mutation: APPLIED } });
    });

    it("keeps the tries that were counted before", async () => {
      const [scene, session] = await reserved(false);
      await scene.settle(
        session,
        { kind: "transient", error: "busy", retryAt: scene.clock.now() },
        { key: "run-1" },
      );
      await scene.begin();
      await scene.restart();
      expect(await scene.begin()).toMatchObject({ tries: 1 });
    });
  });

  describe(`a claim that is held no longer on a ${kind}`, () => {
    it("changes nothing, and every call says so", async () => {
      const [scene, late] = await reserved(false);
      await scene.restart();
      const session = await scene.begin();
      const before = await scene.status();
      expect(await scene.events.renew(late)).toBe(false);
      expect(await scene.reserve(late, ["2"])).toBe("superseded");
      expect(await scene.events.noteMutation(late, APPLIED)).toBe("superseded");
      expect(
        await scene.settle(late, {
          kind: "committed",
          events: [{ topic: "in", ids: ["2"] }],
          publish: [{ topic: "out", id: "x", payload: "1" }],
          state: '"late"',
        }),
      ).toEqual({ result: "superseded" });
      expect(await scene.status()).toEqual(before);
      expect(await scene.events.list("out", { limit: 1 })).toEqual([]);
      expect(await scene.take(session, ["1", "2"])).toBe(false);
    });

    it("is one whose lease has ended: the next node consumes the events, once", async () => {
      const scene = await EventScene.open(open);
      await scene.publish("in", "1");
      const late = await scene.begin();
      await scene.clock.advance(LEASE_MS - 1);
      expect(await scene.events.renew(late)).toBe(true);
      await scene.clock.advance(LEASE_MS - 1);
      expect(await scene.tryBegin()).toBe("running");
      await scene.clock.advance(1);
      const session = await scene.begin();
      const taking = { kind: "committed", events: [{ topic: "in", ids: ["1"] }] } as const;
      expect(await scene.settle(late, taking)).toEqual({ result: "superseded" });
      expect(goesOn(await scene.settle(session, taking))).toBe(false);
      expect(await scene.events.renew(session)).toBe(false);
    });

    it("whose lease ended within the change leaves a suspended run", async () => {
      const [scene, late] = await reserved();
      await scene.clock.advance(LEASE_MS);
      expect(await scene.events.noteMutation(late, APPLIED)).toBe("superseded");
      expect(await scene.tryBegin()).toBe("suspended");
    });
  });
}
