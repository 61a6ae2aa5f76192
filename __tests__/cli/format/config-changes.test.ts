import { describe, expect, it } from "vitest";
import { changesInWords } from "../../../src/cli/format/config-changes.js";

const none = { added: [], removed: [], changed: [] };
const nothing = { agents: none, schedules: none, options: [] };

describe("what is different in a configuration, in words,", () => {
  it("names agents that came, went or are others", () => {
    const agents = { added: ["a", "b"], removed: ["c"], changed: ["d"] };
    expect(changesInWords({ ...nothing, agents })).toBe(
      "added agents a, b; removed agent c; changed agent d",
    );
  });

  it("names the schedules of an agent in the place of the agent", () => {
    const agents = { ...none, changed: ["a"] };
    const schedules = { ...none, changed: [{ agent: "a", schedule: "x" }] };
    expect(changesInWords({ ...nothing, agents, schedules })).toBe("changed schedule a/x");
  });

  it("says what only the next start takes notice of", () => {
    expect(changesInWords({ ...nothing, options: ["stateDir", "checkInterval"] })).toBe(
      "state_dir, check_interval from the next start on",
    );
  });

  it("says how many more there are than anybody reads", () => {
    const added = Array.from({ length: 10 }, (_, index) => `a${index}`);
    expect(changesInWords({ ...nothing, agents: { ...none, added } })).toBe(
      "added agents a0, a1, a2, a3, a4, a5, a6, a7 and 2 more",
    );
  });
});
