/** Reports about work items: which source gets them, and which claim they end. */
import { describe, expect, it } from "vitest";
import { MemoryWork } from "../../src/work-sources/memory-source.js";
import { A, B, HOUR_MS, managerOf, scene, workSource } from "./manager-scene.js";

const SUCCESS = { outcome: "success", summary: "done" } as const;

describe("a report about a work item", () => {
  it("reaches the item's source", async () => {
    const { manager, work } = scene();
    const { item } = await manager.getNextWorkItem(A, { workSource });
    const id = item?.id ?? "";
    expect(await manager.reportOutcome(id, SUCCESS, { agent: A })).toBe(true);
    expect(work.outcomeOf(id)).toEqual(SUCCESS);
  });

  it("is idempotent", async () => {
    const { manager, work } = scene();
    const { item } = await manager.getNextWorkItem(A, { workSource });
    const id = item?.id ?? "";
    await manager.reportOutcome(id, SUCCESS, { agent: A });
    expect(await manager.reportOutcome(id, { outcome: "failure", summary: "" }, { agent: A })).toBe(false);
    expect(await manager.releaseWorkItem(id, { agent: A })).toBe(false);
    expect(await manager.renewWorkItem(id, { agent: A })).toBe(false);
    expect(work.standingOf(id)).toBe("done");
  });

  it("that was never claimed is rejected", async () => {
    const { manager, work } = scene();
    const [item] = work.list();
    await expect(manager.reportOutcome(item?.id ?? "", SUCCESS, { agent: A })).rejects.toMatchObject({
      code: "UNKNOWN_WORK_ITEM",
      message: expect.stringMatching(/^Agent "a" has not claimed the work item "memory:/),
    });
    await expect(manager.releaseWorkItem("nonsense", { agent: A })).rejects.toThrow('"nonsense"');
    await expect(manager.renewWorkItem("nonsense", { agent: A })).rejects.toThrow('"nonsense"');
  });

  it("that a different agent claimed is rejected", async () => {
    const { manager, work } = scene();
    const next = await manager.getNextWorkItem(A, { workSource });
    const id = next.item?.id ?? "";
    await expect(manager.reportOutcome(id, SUCCESS, { agent: B })).rejects.toThrow(
      'Agent "b" has not claimed',
    );
    const claim = next.item === undefined ? undefined : next.claim;
    await expect(manager.reportOutcome(id, SUCCESS, { agent: B, claim })).rejects.toThrow('Agent "b"');
    expect(work.standingOf(id)).toBe("working");
  });

  it("may be repeated after the source failed", async () => {
    const work = new MemoryWork({ items: [{ title: "only" }] });
    const adapter = work.connect();
    const complete = adapter.completeWork.bind(adapter);
    adapter.completeWork = () => Promise.reject(new Error("no network"));
    const manager = managerOf(() => adapter);
    const { item } = await manager.getNextWorkItem(A, { workSource });
    const id = item?.id ?? "";
    await expect(manager.reportOutcome(id, SUCCESS, { agent: A })).rejects.toThrow(
      '"own" failed: no network',
    );
    adapter.completeWork = complete;
    expect(await manager.reportOutcome(id, SUCCESS, { agent: A })).toBe(true);
  });

  it("under an expired claim does not end a different agent's claim", async () => {
    const { manager, work, clock } = scene();
    const { item } = await manager.getNextWorkItem(A, { workSource });
    const id = item?.id ?? "";
    await clock.advance(HOUR_MS);
    await manager.getNextWorkItem(B, { workSource });
    expect(await manager.reportOutcome(id, SUCCESS, { agent: A })).toBe(false);
    expect(work.standingOf(id)).toBe("working");
    expect(await manager.reportOutcome(id, SUCCESS, { agent: B })).toBe(true);
  });

  it("under an expired claim does not end a later claim of the same agent", async () => {
    const { manager, work, clock } = scene();
    const first = await manager.getNextWorkItem(A, { workSource });
    await clock.advance(HOUR_MS);
    const second = await manager.getNextWorkItem(A, { workSource });
    const [old, young] = [first, second].map((next) => (next.item === undefined ? undefined : next.claim));
    const id = first.item?.id ?? "";
    expect(await manager.reportOutcome(id, SUCCESS, { agent: A, claim: old })).toBe(false);
    expect(work.standingOf(id)).toBe("working");
    expect(await manager.reportOutcome(id, SUCCESS, { agent: A, claim: young })).toBe(true);
  });
});

describe("a released work item", () => {
  it("can be claimed again", async () => {
    const { manager } = scene();
    const { item } = await manager.getNextWorkItem(A, { workSource });
    expect(await manager.releaseWorkItem(item?.id ?? "", { agent: A })).toBe(true);
    expect((await manager.getNextWorkItem(B, { workSource })).item?.id).toBe(item?.id);
  });

  it("passes the reason to the source", async () => {
    const adapter = new MemoryWork({ items: [{ title: "only" }] }).connect();
    const seen: unknown[] = [];
    adapter.releaseWork = async (_, options) => seen.push(options) > 0;
    const manager = managerOf(() => adapter);
    const { item } = await manager.getNextWorkItem(A, { workSource });
    await manager.releaseWorkItem(item?.id ?? "", { agent: A, reason: "no time", addComment: true });
    expect(seen).toEqual([{ reason: "no time", addComment: true }]);
  });
});

describe("a renewed claim on a work item", () => {
  it("keeps the item from other agents", async () => {
    const { manager, clock } = scene();
    const { item } = await manager.getNextWorkItem(A, { workSource });
    await clock.advance(HOUR_MS - 1);
    expect(await manager.renewWorkItem(item?.id ?? "", { agent: A })).toBe(true);
    await clock.advance(HOUR_MS - 1);
    expect((await manager.getNextWorkItem(B, { workSource })).item).toBeUndefined();
  });

  it("stays lost when the renewal came after its expiry", async () => {
    const { manager, work, clock } = scene();
    const { item } = await manager.getNextWorkItem(A, { workSource });
    const id = item?.id ?? "";
    await clock.advance(HOUR_MS);
    await work.connect().claimWork(id);
    expect(await manager.renewWorkItem(id, { agent: A })).toBe(false);
    expect(await manager.reportOutcome(id, SUCCESS, { agent: A })).toBe(false);
  });
});
