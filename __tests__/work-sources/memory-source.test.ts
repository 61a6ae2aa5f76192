/** Work in memory: the contract of all sources, and what a host with the items can read. */
import { describe, expect, it } from "vitest";
import { FakeClock } from "../../src/clock.js";
import { MemoryWork } from "../../src/work-sources/memory-source.js";
import { WorkSourceRegistry } from "../../src/work-sources/registry.js";
import { describeWorkSource } from "../contract/work-source-contract.js";
import { thrownBy } from "../thrown-by.js";

const HOUR_MS = 3_600_000;

describeWorkSource(
  "memory",
  () => {
    const clock = new FakeClock();
    const work = new MemoryWork({ clock });
    return { clock, add: async (item) => void work.add({ ...item }), connect: () => work.connect() };
  },
  { claimExpiryMs: HOUR_MS },
);

describe("work in memory", () => {
  it("returns the state of each item", async () => {
    const clock = new FakeClock();
    const work = new MemoryWork({ clock });
    const adapter = work.connect();
    const [available, working, done, failed, expired] = ["a", "b", "c", "d", "e"].map(
      (title) => work.add({ title }).id,
    ) as [string, string, string, string, string];
    await adapter.claimWork(expired);
    await clock.advance(HOUR_MS);
    for (const id of [working, done, failed]) await adapter.claimWork(id);
    await adapter.completeWork(done, { outcome: "success", summary: "yes" });
    await adapter.completeWork(failed, { outcome: "failure", summary: "no" });
    expect([available, working, done, failed, expired, "other"].map((id) => work.standingOf(id))).toEqual([
      "available",
      "working",
      "done",
      "failed",
      "available",
      undefined,
    ]);
  });

  it("keeps the outcome of an item", async () => {
    const work = new MemoryWork({ items: [{ title: "a" }] });
    const [item] = work.list();
    const id = item?.id ?? "";
    const adapter = work.connect();
    await adapter.claimWork(id);
    expect(work.outcomeOf(id)).toBeUndefined();
    await adapter.completeWork(id, { outcome: "success", summary: "yes" });
    expect(work.outcomeOf(id)).toEqual({ outcome: "success", summary: "yes" });
  });

  it("has items with all their fields", () => {
    const clock = new FakeClock("2026-03-01T00:00:00Z");
    const work = new MemoryWork({ clock });
    expect(
      work.add({ title: "t", description: "d", labels: ["l"], url: "https://example.com", size: 3 }),
    ).toMatchObject({
      source: "memory",
      externalId: "1",
      title: "t",
      description: "d",
      priority: "medium",
      labels: ["l"],
      url: "https://example.com",
      metadata: { size: 3 },
      createdAt: clock.now(),
      updatedAt: clock.now(),
    });
  });

  it("has ids that a second MemoryWork does not have", () => {
    expect(new MemoryWork().add({ title: "a" }).id).not.toBe(new MemoryWork().add({ title: "a" }).id);
  });

  it.each([
    ["has no title", {}],
    ['has the title ""', { title: "" }],
    ["has the title 3, expected a text", { title: 3 }],
    ['has the priority "urgent", expected critical, high, medium, low', { title: "t", priority: "urgent" }],
    ['has the labels "bug", expected a list of texts', { title: "t", labels: "bug" }],
    ["has the labels an array", { title: "t", labels: [1] }],
    ["has the url 1", { title: "t", url: 1 }],
    ["has the description an array", { title: "t", description: [] }],
    ['has the created_at "yesterday"', { title: "t", created_at: "yesterday" }],
    ["has values that JSON cannot represent", { title: "t", size: 1n }],
    ['is "text"', "text"],
  ])("rejects an item that %s", (why, item) => {
    expect(thrownBy(() => new MemoryWork().add(item as never))).toMatchObject({
      code: "INVALID_WORK_SOURCE",
      message: expect.stringContaining(why),
    });
  });
});

describe("a work source of type memory", () => {
  it("has the items of its configuration", async () => {
    const config = { type: "memory", items: [{ title: "a" }, { title: "b", priority: "high" }] };
    const items = await new WorkSourceRegistry().create(config).fetchAvailableWork();
    expect(items.map(({ title }) => title)).toEqual(["b", "a"]);
  });

  it.each([
    [{ items: {} }, "expected a list"],
    [{ items: ["a"] }, 'is "a"'],
    [{ itmes: [] }, 'Unknown key "itmes" in a work source of type "memory", expected items, claim_expiry'],
    [{ claim_expiry: "soon" }, 'is "soon", expected a duration'],
    [{ claim_expiry: "0s" }, 'is "0s", expected a duration'],
    [{ claim_expiry: "366d" }, 'is "366d", expected a duration'],
    [{ claim_expiry: 5 }, "is 5, expected a duration"],
  ])("rejects %j and names the reason", (keys, why) => {
    const create = (): unknown => new WorkSourceRegistry().create({ type: "memory", ...keys });
    expect(thrownBy(create)).toMatchObject({
      code: "INVALID_WORK_SOURCE",
      message: expect.stringContaining(why),
    });
  });
});
