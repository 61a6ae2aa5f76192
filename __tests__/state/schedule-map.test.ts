import { describe, expect, it } from "vitest";
import { ScheduleMap } from "../../src/state/schedule-map.js";

describe("a schedule map", () => {
  it("tells schedules apart by both names", () => {
    const map = new ScheduleMap<number>();
    const keys = [
      { agent: "a", schedule: "x" },
      { agent: "a", schedule: "a" },
      { agent: "x", schedule: "a" },
      { agent: "a", schedule: "__proto__" },
    ];
    for (const [value, key] of keys.entries()) map.set(key, value);
    expect(keys.map((key) => map.get(key))).toEqual([0, 1, 2, 3]);
    expect(new Set(map.values())).toEqual(new Set([0, 1, 2, 3]));
  });

  it("has nothing of an agent or a schedule that it was not given", () => {
    const map = new ScheduleMap<number>();
    map.set({ agent: "a", schedule: "x" }, 1);
    expect(map.get({ agent: "b", schedule: "x" })).toBeUndefined();
    expect(map.get({ agent: "a", schedule: "y" })).toBeUndefined();
  });

  it.each(["first", "second", "third"])("keeps the last value of an agent's %s schedule", (schedule) => {
    const map = new ScheduleMap<string>();
    for (const name of ["first", "second", "third"]) map.set({ agent: "a", schedule: name }, name);
    map.set({ agent: "a", schedule }, "new");
    expect(map.get({ agent: "a", schedule })).toBe("new");
    expect([...map.values()]).toHaveLength(3);
  });
});
