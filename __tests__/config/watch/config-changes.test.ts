/** The differences between two configurations. */
import { describe, expect, it } from "vitest";
import { configChanges } from "../../../src/config/watch/config-changes.js";
import { parseConfig } from "../../../src/config/parse-config.js";

function changes(before: string, after: string): ReturnType<typeof configChanges> {
  const file = "/etc/fleet/rota.yaml";
  return configChanges(parseConfig(before, { file }), parseConfig(after, { file }));
}

const NONE = { added: [], removed: [], changed: [] };

describe("the changes between two configurations", () => {
  it("are undefined for equal configurations, however they are written", () => {
    expect(
      changes(
        "agents: [{ name: a, timeout: 5m }, { name: b }]",
        "defaults: {}\nagents:\n  - name: b\n  - { timeout: 5m, name: a }",
      ),
    ).toBeUndefined();
  });

  it("list the added, removed and changed agents", () => {
    const before = "agents: [{ name: a }, { name: b }, { name: c }]";
    const after = "agents: [{ name: b, timeout: 5m }, { name: c }, { name: d }]";
    expect(changes(before, after)).toEqual({
      agents: { added: ["d"], removed: ["a"], changed: ["b"] },
      schedules: NONE,
      options: [],
    });
  });

  it("list the schedules of agents that are in both", () => {
    const before = `agents: [{ name: a, schedules: { x: { type: chat }, y: { type: chat }, z: { type: chat } } }]`;
    const after = `agents: [{ name: a, schedules: { y: { type: webhook }, z: { type: chat }, w: { type: chat } } }]`;
    expect(changes(before, after)).toEqual({
      agents: { added: [], removed: [], changed: ["a"] },
      schedules: {
        added: [{ agent: "a", schedule: "w" }],
        removed: [{ agent: "a", schedule: "x" }],
        changed: [{ agent: "a", schedule: "y" }],
      },
      options: [],
    });
  });

  it("list the changed options of the scheduler", () => {
    expect(changes("agents: []", "agents: []\ntimezone: UTC\nstate_dir: s\njitter: 1")).toEqual({
      agents: NONE,
      schedules: NONE,
      options: ["jitterPercent", "stateDir", "timezone"],
    });
  });

  it("list a schedule that was disabled as removed", () => {
    const schedule = (enabled: boolean): string =>
      `agents: [{ name: a, schedules: { x: { type: chat, enabled: ${enabled} } } }]`;
    expect(changes(schedule(true), schedule(false))?.schedules.removed).toEqual([
      { agent: "a", schedule: "x" },
    ]);
  });
});
