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

  it.each([
    ["first", "second", "third"],
    ["second", "third", "first"],
    ["third", "first", "second"],
  ])("forgets an agent's %s, %s and %s schedule, one after the other", (...schedules) => {
    const map = new ScheduleMap<string>();
    for (const schedule of ["first", "second", "third"]) map.set({ agent: "a", schedule }, schedule);
    map.set({ agent: "b", schedule: "first" }, "of another");
    map.delete({ agent: "c", schedule: "first" });
    map.delete({ agent: "a", schedule: "fourth" });
    const left = new Set(["of another", ...schedules]);
    for (const [index, schedule] of schedules.entries()) {
      expect([map.countOf("a"), map.countOf("b"), map.countOf("c")]).toEqual([3 - index, 1, 0]);
      map.delete({ agent: "a", schedule });
      left.delete(schedule);
      expect(new Set(map.values())).toEqual(left);
      expect(map.get({ agent: "a", schedule })).toBeUndefined();
    }
    expect(map.countOf("a")).toBe(0);
  });

  it("takes a schedule again that it forgot before the rest of its agent", () => {
    const map = new ScheduleMap<string>();
    for (const schedule of ["first", "second"]) map.set({ agent: "a", schedule }, schedule);
    map.delete({ agent: "a", schedule: "first" });
    map.set({ agent: "a", schedule: "first" }, "again");
    map.set({ agent: "a", schedule: "second" }, "new");
    expect([...map.values()].toSorted()).toEqual(["again", "new"]);
    expect(map.countOf("a")).toBe(2);
    for (const schedule of ["first", "second"]) map.delete({ agent: "a", schedule });
    expect([map.countOf("a"), ...map.values()]).toEqual([0]);
  });
});
