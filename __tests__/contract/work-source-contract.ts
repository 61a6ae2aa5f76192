/** The contract of all work sources. Two adapters of a scene stand for two processes. */
import { describe, expect, it } from "vitest";
import type { FakeClock } from "../../src/clock.js";
import type {
  WorkItem,
  WorkOutcome,
  WorkPriority,
  WorkSourceAdapter,
} from "../../src/work-sources/work-source.js";

export interface NewItem {
  readonly title: string;
  readonly priority?: WorkPriority;
  readonly created_at?: string;
}

/** An empty source, which is cleaned up at the end of the test. */
export interface WorkSourceScene {
  readonly clock: FakeClock;
  readonly add: (item: NewItem) => Promise<void>;
  /** A new adapter for the same source. */
  readonly connect: () => WorkSourceAdapter;
}

export interface WorkSourceTraits {
  /** How long a claim lasts on the scene's clock; `undefined` when claims do not expire. */
  readonly claimExpiryMs: number | undefined;
  /**
   * The least time that such a source can tell, in milliseconds.
   * @default 1
   */
  readonly leastMs?: number;
}

const SUCCESS: WorkOutcome = { outcome: "success", summary: "All done" };
const FAILURE: WorkOutcome = { outcome: "failure", summary: "No luck", error: "It broke" };
const CLAIMERS = 8;

const titles = (items: readonly WorkItem[]): string[] => items.map(({ title }) => title);

export function describeWorkSource(
  kind: string,
  makeScene: () => Promise<WorkSourceScene> | WorkSourceScene,
  { claimExpiryMs, leastMs = 1 }: WorkSourceTraits,
): void {
  /** A scene with one item, and its id. */
  async function sceneWithItem(): Promise<WorkSourceScene & { adapter: WorkSourceAdapter; id: string }> {
    const scene = await makeScene();
    await scene.add({ title: "only" });
    const adapter = scene.connect();
    const [item] = await adapter.fetchAvailableWork();
    return { ...scene, adapter, id: item?.id ?? "" };
  }

  describe(`the available work of ${kind}`, () => {
    it("is empty at first", async () => {
      const adapter = (await makeScene()).connect();
      expect(await adapter.fetchAvailableWork()).toEqual([]);
    });

    it("is every added item, with a unique id", async () => {
      const scene = await makeScene();
      await scene.add({ title: "one" });
      await scene.add({ title: "two" });
      const items = await scene.connect().fetchAvailableWork();
      expect(titles(items).toSorted()).toEqual(["one", "two"]);
      expect(new Set(items.map(({ id }) => id)).size).toBe(2);
    });

    it("is limited to the requested number, with the most urgent and then the oldest first", async () => {
      const scene = await makeScene();
      await scene.add({ title: "later", priority: "high", created_at: "2026-02-02T00:00:00Z" });
      await scene.add({ title: "low", priority: "low", created_at: "2025-01-01T00:00:00Z" });
      await scene.add({ title: "earlier", priority: "high", created_at: "2026-02-01T00:00:00Z" });
      await scene.add({ title: "critical", priority: "critical", created_at: "2026-02-03T00:00:00Z" });
      const items = await scene.connect().fetchAvailableWork({ limit: 3 });
      expect(titles(items)).toEqual(["critical", "earlier", "later"]);
    });

    it("is not fetched when the signal has fired", async () => {
      const { adapter } = await sceneWithItem();
      const signal = AbortSignal.abort(new Error("nobody waits"));
      await expect(adapter.fetchAvailableWork({ signal })).rejects.toThrow("nobody waits");
    });
  });

  describe(`a claim in ${kind}`, () => {
    it("returns the item as it was fetched", async () => {
      const { adapter, id } = await sceneWithItem();
      const [item] = await adapter.fetchAvailableWork();
      expect(await adapter.claimWork(id)).toMatchObject({ isClaimed: true, item });
    });

    it("makes the item unavailable to all adapters", async () => {
      const { adapter, id, connect } = await sceneWithItem();
      await adapter.claimWork(id);
      expect(await adapter.fetchAvailableWork()).toEqual([]);
      expect(await connect().fetchAvailableWork()).toEqual([]);
    });

    it("is exclusive while it lasts", async () => {
      const { adapter, id, connect } = await sceneWithItem();
      await adapter.claimWork(id);
      expect(await adapter.claimWork(id)).toEqual({ isClaimed: false, reason: "taken" });
      expect(await connect().claimWork(id)).toEqual({ isClaimed: false, reason: "taken" });
    });

    it(`succeeds for one of ${CLAIMERS} concurrent adapters`, async () => {
      const { id, connect } = await sceneWithItem();
      const adapters = Array.from({ length: CLAIMERS }, () => connect());
      const claims = await Promise.all(adapters.map((adapter) => adapter.claimWork(id)));
      expect(claims.filter(({ isClaimed }) => isClaimed)).toHaveLength(1);
    });

    it(`succeeds for one of ${CLAIMERS} concurrent calls of an adapter`, async () => {
      const { id, adapter } = await sceneWithItem();
      const calls = Array.from({ length: CLAIMERS }, () => adapter.claimWork(id));
      expect((await Promise.all(calls)).filter(({ isClaimed }) => isClaimed)).toHaveLength(1);
    });

    it.each(["", "nonsense", "../../etc/passwd", "\0"])("fails for the unknown id %j", async (unknown) => {
      const { adapter } = await sceneWithItem();
      expect(await adapter.claimWork(unknown)).toEqual({ isClaimed: false, reason: "gone" });
    });
  });

  describe(`completing an item of ${kind}`, () => {
    it.each([SUCCESS, FAILURE])("with a $outcome makes it unavailable for good", async (outcome) => {
      const { adapter, id, connect } = await sceneWithItem();
      await adapter.claimWork(id);
      expect(await adapter.completeWork(id, outcome)).toBe(true);
      expect(await connect().fetchAvailableWork()).toEqual([]);
      expect(await connect().claimWork(id)).toEqual({ isClaimed: false, reason: "gone" });
    });

    it("a second time has no effect", async () => {
      const { adapter, id } = await sceneWithItem();
      await adapter.claimWork(id);
      await adapter.completeWork(id, SUCCESS);
      expect(await adapter.completeWork(id, FAILURE)).toBe(false);
      expect(await adapter.releaseWork(id)).toBe(false);
      expect(await adapter.fetchAvailableWork()).toEqual([]);
    });

    it("twice at the same time is done once", async () => {
      const { adapter, id } = await sceneWithItem();
      await adapter.claimWork(id);
      const calls = [adapter.completeWork(id, SUCCESS), adapter.completeWork(id, SUCCESS)];
      expect((await Promise.all(calls)).filter(Boolean)).toHaveLength(1);
    });

    it("without a claim has no effect", async () => {
      const { adapter, id } = await sceneWithItem();
      expect(await adapter.completeWork(id, SUCCESS)).toBe(false);
      expect(titles(await adapter.fetchAvailableWork())).toEqual(["only"]);
    });

    it("that a different adapter has claimed has no effect", async () => {
      const { adapter, id, connect } = await sceneWithItem();
      await adapter.claimWork(id);
      expect(await connect().completeWork(id, SUCCESS)).toBe(false);
      expect(await adapter.completeWork(id, SUCCESS)).toBe(true);
    });

    it("of an unknown id has no effect", async () => {
      const { adapter } = await sceneWithItem();
      expect(await adapter.completeWork("nonsense", SUCCESS)).toBe(false);
      expect(await adapter.releaseWork("nonsense")).toBe(false);
    });
  });

  describe(`releasing an item of ${kind}`, () => {
    it("makes it available again, as it was", async () => {
      const { adapter, id, connect } = await sceneWithItem();
      const before = await adapter.fetchAvailableWork();
      await adapter.claimWork(id);
      expect(await adapter.releaseWork(id, { reason: "no time", addComment: true })).toBe(true);
      const after = await connect().fetchAvailableWork();
      expect(after.map(({ id: again, title, createdAt }) => ({ again, title, createdAt }))).toEqual(
        before.map(({ id: again, title, createdAt }) => ({ again, title, createdAt })),
      );
    });

    it("lets a different adapter claim it", async () => {
      const { adapter, id, connect } = await sceneWithItem();
      await adapter.claimWork(id);
      await adapter.releaseWork(id);
      expect(await connect().claimWork(id)).toMatchObject({ isClaimed: true });
      expect(await adapter.completeWork(id, SUCCESS)).toBe(false);
    });

    it("that a different adapter has claimed has no effect", async () => {
      const { adapter, id, connect } = await sceneWithItem();
      await adapter.claimWork(id);
      expect(await connect().releaseWork(id)).toBe(false);
      expect(await connect().fetchAvailableWork()).toEqual([]);
    });
  });

  describe(`an item of ${kind}`, () => {
    it("is found by its id in every state", async () => {
      const { adapter, id } = await sceneWithItem();
      expect(await adapter.getWork(id)).toMatchObject({ id, title: "only" });
      await adapter.claimWork(id);
      expect(await adapter.getWork(id)).toMatchObject({ id, title: "only" });
      await adapter.completeWork(id, FAILURE);
      expect(await adapter.getWork(id)).toMatchObject({ id, title: "only" });
    });

    it("is not found by a different id", async () => {
      const { adapter, id } = await sceneWithItem();
      expect(await adapter.getWork(`${id}0`)).toBeUndefined();
      expect(await adapter.getWork("nonsense")).toBeUndefined();
    });
  });

  describe.runIf(claimExpiryMs !== undefined)(`a claim in ${kind} that expires`, () => {
    const lifeMs = claimExpiryMs ?? 0;

    it("has an expiry, and lasts until then", async () => {
      const { adapter, id, connect, clock } = await sceneWithItem();
      const expiresAt = new Date(clock.now().getTime() + lifeMs);
      expect(await adapter.claimWork(id)).toMatchObject({ expiresAt });
      await clock.advance(lifeMs - leastMs);
      expect(await connect().fetchAvailableWork()).toEqual([]);
    });

    it("makes the item available again after its expiry", async () => {
      const { adapter, id, connect, clock } = await sceneWithItem();
      await adapter.claimWork(id);
      await clock.advance(lifeMs);
      const looks = Array.from({ length: CLAIMERS }, () => connect().fetchAvailableWork());
      await Promise.all(looks);
      expect(titles(await connect().fetchAvailableWork())).toEqual(["only"]);
    });

    it("cannot complete an item that a different adapter has claimed since", async () => {
      const { adapter, id, connect, clock } = await sceneWithItem();
      await adapter.claimWork(id);
      await clock.advance(lifeMs);
      const other = connect();
      await other.fetchAvailableWork();
      expect(await other.claimWork(id)).toMatchObject({ isClaimed: true });
      expect(await adapter.completeWork(id, FAILURE)).toBe(false);
      expect(await adapter.releaseWork(id)).toBe(false);
      expect(await other.completeWork(id, SUCCESS)).toBe(true);
    });

    it("can still complete an item that no other adapter has fetched since", async () => {
      const { adapter, id, clock } = await sceneWithItem();
      await adapter.claimWork(id);
      await clock.advance(lifeMs);
      expect(await adapter.completeWork(id, SUCCESS)).toBe(true);
      expect(await adapter.fetchAvailableWork()).toEqual([]);
    });

    it("lasts its full time again after a renewal", async () => {
      const { adapter, id, connect, clock } = await sceneWithItem();
      await adapter.claimWork(id);
      await clock.advance(lifeMs - leastMs);
      expect(await adapter.renewWork?.(id)).toBe(true);
      await clock.advance(lifeMs - leastMs);
      expect(await connect().fetchAvailableWork()).toEqual([]);
      await clock.advance(leastMs);
      expect(titles(await connect().fetchAvailableWork())).toEqual(["only"]);
    });

    it("cannot be renewed when a different adapter has the item", async () => {
      const { adapter, id, connect, clock } = await sceneWithItem();
      await adapter.claimWork(id);
      await clock.advance(lifeMs);
      const other = connect();
      await other.fetchAvailableWork();
      await other.claimWork(id);
      expect(await adapter.renewWork?.(id)).toBe(false);
      expect(await other.renewWork?.(id)).toBe(true);
    });

    it("can be renewed and ended at the same time", async () => {
      const { adapter, id, clock } = await sceneWithItem();
      await adapter.claimWork(id);
      await clock.advance(1_000);
      const [, isDone] = await Promise.all([adapter.renewWork?.(id), adapter.completeWork(id, SUCCESS)]);
      expect(isDone).toBe(true);
      expect(await adapter.renewWork?.(id)).toBe(false);
    });
  });
}
