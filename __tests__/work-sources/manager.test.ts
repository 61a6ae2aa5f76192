/** Which work item an agent gets. */
import { describe, expect, it } from "vitest";
import { MemoryWork } from "../../src/work-sources/memory-source.js";
import type { NewWork } from "../../src/work-sources/work-source.js";
import type { WorkSourceAdapter } from "../../src/work-sources/work-source.js";
import { A, B, HOUR_MS, managerOf, scene, workSource } from "./manager-scene.js";

/** The adapter, whose first `lost` claims fail because the items are taken. */
function contended(work: MemoryWork, lost: number): WorkSourceAdapter & { fetches: number; claims: number } {
  const adapter = work.connect();
  const rival = work.connect();
  return {
    fetches: 0,
    claims: 0,
    async fetchAvailableWork(options) {
      this.fetches++;
      return adapter.fetchAvailableWork(options);
    },
    async claimWork(id) {
      if (this.claims++ < lost) await rival.claimWork(id);
      return adapter.claimWork(id);
    },
    completeWork: (id, outcome) => adapter.completeWork(id, outcome),
    releaseWork: (id) => adapter.releaseWork(id),
    getWork: (id) => adapter.getWork(id),
  };
}

const numbered = (count: number): NewWork[] =>
  Array.from({ length: count }, (_, index) => ({ title: String(index) }));

describe("the next work item", () => {
  it("is the most urgent, then the oldest, then the one with the smallest id", async () => {
    const created_at = "2026-01-01T00:00:00Z";
    const { manager } = scene([
      { title: "5", priority: "low", created_at: "2025-01-01T00:00:00Z" },
      { title: "3", priority: "high", created_at },
      { title: "4", priority: "high", created_at },
      { title: "2", priority: "high", created_at: "2025-12-31T00:00:00Z" },
      { title: "1", priority: "critical", created_at: "2026-02-01T00:00:00Z" },
    ]);
    const titles: unknown[] = [];
    for (let count = 0; count < 5; count++)
      titles.push((await manager.getNextWorkItem(A, { workSource })).item?.title);
    expect(titles).toEqual(["1", "2", "3", "4", "5"]);
  });

  it("is the one that is asked for, if that is available", async () => {
    const { manager, work } = scene([
      { title: "high", priority: "high" },
      { title: "low", priority: "low" },
    ]);
    const itemId = work.list()[1]?.id;
    const seen = await manager.getNextWorkItem(A, { workSource, itemId, autoClaim: false });
    expect(seen.item?.title).toBe("high");
    const titles: unknown[] = [];
    for (let count = 0; count < 3; count++)
      titles.push((await manager.getNextWorkItem(A, { workSource, itemId })).item?.title);
    expect(titles).toEqual(["low", "high", undefined]);
    const other = await manager.getNextWorkItem(A, { workSource, itemId: "directory:/else/where" });
    expect(other).toEqual({ item: undefined, isLost: false });
  });

  it("is the most urgent although the source does not sort", async () => {
    const work = new MemoryWork({
      items: [
        { title: "low", priority: "low" },
        { title: "high", priority: "high" },
      ],
    });
    const adapter = work.connect();
    const fetchAvailableWork = async (): ReturnType<typeof adapter.fetchAvailableWork> => work.list();
    const manager = managerOf(() => Object.assign(adapter, { fetchAvailableWork }));
    expect((await manager.getNextWorkItem(A, { workSource })).item?.title).toBe("high");
  });

  it("is claimed", async () => {
    const { manager, work } = scene();
    const { item } = await manager.getNextWorkItem(A, { workSource });
    expect(work.standingOf(item?.id ?? "")).toBe("working");
  });

  it("is not claimed without autoClaim", async () => {
    const { manager, work } = scene();
    const next = await manager.getNextWorkItem(A, { workSource, autoClaim: false });
    expect(next).toMatchObject({ item: { title: "only" }, claim: undefined, isLost: false });
    expect(work.standingOf(next.item?.id ?? "")).toBe("available");
  });

  it("comes with the interval for renewing its claim", async () => {
    const { manager } = scene();
    expect(await manager.getNextWorkItem(A, { workSource })).toMatchObject({ renewEveryMs: HOUR_MS / 3 });
  });

  it("comes without an interval when the adapter cannot renew claims", async () => {
    const work = new MemoryWork({ items: [{ title: "only" }] });
    const manager = managerOf(() => contended(work, 0));
    const next = await manager.getNextWorkItem(A, { workSource });
    expect(next).toMatchObject({ item: { title: "only" }, renewEveryMs: undefined });
    expect(await manager.renewWorkItem(next.item?.id ?? "", { agent: A })).toBe(true);
  });

  it("is undefined and not lost when the source is empty", async () => {
    const { manager } = scene([]);
    expect(await manager.getNextWorkItem(A, { workSource })).toEqual({ item: undefined, isLost: false });
  });

  it("is the second one when the first is taken", async () => {
    const adapter = contended(new MemoryWork({ items: numbered(3) }), 2);
    const manager = managerOf(() => adapter);
    expect(await manager.getNextWorkItem(A, { workSource })).toMatchObject({ item: { title: "2" } });
  });

  it("is undefined and lost when all items are taken", async () => {
    const adapter = contended(new MemoryWork({ items: numbered(3) }), Infinity);
    const manager = managerOf(() => adapter);
    expect(await manager.getNextWorkItem(A, { workSource })).toEqual({ item: undefined, isLost: true });
    expect(adapter.fetches).toBe(1);
  });

  it("comes from the next page when a whole page is taken", async () => {
    const adapter = contended(new MemoryWork({ items: numbered(60) }), 50);
    const manager = managerOf(() => adapter);
    expect((await manager.getNextWorkItem(A, { workSource })).item).toBeDefined();
    expect(adapter.fetches).toBe(2);
  });

  it("is undefined after three pages of taken items", async () => {
    const adapter = contended(new MemoryWork({ items: numbered(300) }), Infinity);
    const manager = managerOf(() => adapter);
    expect(await manager.getNextWorkItem(A, { workSource })).toEqual({ item: undefined, isLost: true });
    expect(adapter).toMatchObject({ fetches: 3, claims: 150 });
  });

  it("is a different one for each of many concurrent calls", async () => {
    const { manager } = scene(numbered(30));
    const asks = Array.from({ length: 40 }, (_, index) =>
      manager.getNextWorkItem({ name: `agent-${index % 7}` }, { workSource }),
    );
    const ids = (await Promise.all(asks)).map(({ item }) => item?.id).filter((id) => id !== undefined);
    expect(ids).toHaveLength(30);
    expect(new Set(ids).size).toBe(30);
  });

  it("is not one that a concurrent call is claiming", async () => {
    const adapter = contended(new MemoryWork({ items: numbered(10) }), 0);
    const manager = managerOf(() => adapter);
    await Promise.all(Array.from({ length: 10 }, () => manager.getNextWorkItem(A, { workSource })));
    expect(adapter.claims).toBe(10);
  });

  it("is not fetched when the signal has fired already", async () => {
    const { manager } = scene();
    const signal = AbortSignal.abort(new Error("too late"));
    await expect(manager.getNextWorkItem(A, { workSource, signal })).rejects.toThrow("too late");
  });

  it("is released when the signal fires during the claim", async () => {
    const work = new MemoryWork({ items: [{ title: "only" }] });
    const adapter = work.connect();
    const stopping = new AbortController();
    const claim = adapter.claimWork.bind(adapter);
    adapter.claimWork = async (id) => {
      const claimed = await claim(id);
      stopping.abort(new Error("too late"));
      return claimed;
    };
    const { signal } = stopping;
    const asking = managerOf(() => adapter).getNextWorkItem(A, { workSource, signal });
    await expect(asking).rejects.toThrow("too late");
    expect(work.standingOf(work.list()[0]?.id ?? "")).toBe("available");
  });

  it("is an error that names the source when the source fails", async () => {
    const adapter = new MemoryWork().connect();
    const cause = new Error("no network");
    adapter.fetchAvailableWork = () => Promise.reject(cause);
    await expect(managerOf(() => adapter).getNextWorkItem(A, { workSource })).rejects.toMatchObject({
      name: "WorkSourceError",
      code: "WORK_SOURCE_UNAVAILABLE",
      message: 'The work source of type "own" failed: no network',
      cause,
    });
  });
});

describe("the adapter of a work source", () => {
  it("is shared by equal configurations, in whatever order their keys are", async () => {
    let made = 0;
    const manager = managerOf(() => {
      made++;
      return new MemoryWork().connect();
    });
    await manager.getNextWorkItem(A, { workSource: { type: "own", x: { a: 1, b: [1, "2"] }, y: undefined } });
    await manager.getNextWorkItem(B, { workSource: { x: { b: [1, "2"], a: 1 }, type: "own" } });
    expect(made).toBe(1);
  });

  it.each([
    [{ x: 1 }, { x: "1" }],
    [{ x: [1, 2] }, { x: [2, 1] }],
    [{ x: null }, {}],
    [{ x: "a,b" }, { x: ["a", "b"] }],
  ])("differs between %j and %j", async (one, other) => {
    let made = 0;
    const manager = managerOf(() => {
      made++;
      return new MemoryWork().connect();
    });
    await manager.getNextWorkItem(A, { workSource: { type: "own", ...one } });
    await manager.getNextWorkItem(A, { workSource: { type: "own", ...other } });
    expect(made).toBe(2);
  });

  const circle: Record<string, unknown> = { type: "own" };
  circle.self = circle;

  it.each([
    ["nothing", undefined, "A work_source is undefined, expected an object with a type"],
    ["null", null, "is null, expected"],
    ["text", "directory", 'is "directory", expected'],
    ["a list", [], "is an array, expected"],
    ["an object without a type", {}, "has the type undefined, expected"],
    ["an empty type", { type: "" }, 'has the type "", expected'],
    ["a function in it", { type: "own", x: () => 1 }, "contains a function, expected"],
    ["itself in it", circle, "refers to itself"],
  ])("is not created for %s", async (_, value, why) => {
    const asking = managerOf(() => new MemoryWork().connect()).getNextWorkItem(A, { workSource: value });
    await expect(asking).rejects.toMatchObject({
      code: "INVALID_WORK_SOURCE",
      message: expect.stringContaining(why),
    });
  });
});
