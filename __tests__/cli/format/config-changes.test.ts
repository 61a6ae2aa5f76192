import { describe, expect, it } from "vitest";
import { formatChanges } from "../../../src/cli/format/config-changes.js";

const none = { added: [], removed: [], changed: [] };
const nothing = { agents: none, schedules: none, options: [] };

describe("the message about a reloaded configuration", () => {
  it("names added, removed and changed agents", () => {
    const agents = { added: ["a", "b"], removed: ["c"], changed: ["d"] };
    expect(formatChanges({ ...nothing, agents })).toBe("added agents a, b; removed agent c; changed agent d");
  });

  it("names changed schedules instead of their agent", () => {
    const agents = { ...none, changed: ["a"] };
    const schedules = { ...none, changed: [{ agent: "a", schedule: "x" }] };
    expect(formatChanges({ ...nothing, agents, schedules })).toBe("changed schedule a/x");
  });

  it("marks options that take effect at the next start", () => {
    expect(formatChanges({ ...nothing, options: ["stateDir", "checkInterval"] })).toBe(
      "changed state_dir, check_interval, in effect from the next start on",
    );
  });

  it("shortens long lists and prints how many names are left out", () => {
    const added = Array.from({ length: 10 }, (_, index) => `a${index}`);
    expect(formatChanges({ ...nothing, agents: { ...none, added } })).toBe(
      "added agents a0, a1, a2, a3, a4, a5, a6, a7 and 2 more",
    );
  });
});
