/** The check of agents that a program made, by the same definition as the agents of a file. */
import { describe, expect, it } from "vitest";
import { checkAgents } from "../../../src/scheduler/definition/check-agents.js";
import { ConfigError } from "../../../src/scheduler/definition/errors.js";
import { thrownBy } from "../../thrown-by.js";

function problemsOf(agents: unknown, host = {}): readonly string[] {
  const thrown = thrownBy(() => checkAgents(agents, host));
  if (!(thrown instanceof ConfigError)) throw thrown;
  return thrown.problems.map(({ where, message }) => `${where}: ${message}`);
}

describe("agents of a program", () => {
  it("may have a run function, a runtime, and every kind of schedule", () => {
    expect(() =>
      checkAgents([
        { name: "a", run: () => "done", timeout: 5000, instances: { max_concurrent: 2 } },
        {
          name: "b",
          runtime: { type: "command", command: ["node"] },
          schedules: {
            often: { type: "interval", interval: "5m", work_source: { type: "memory", items: [] } },
            nightly: { type: "cron", cron: "@daily", on_failure: "pause", prompt: "Go." },
          },
        },
      ]),
    ).not.toThrow();
  });

  it("are rejected with all problems, whose positions are paths", () => {
    expect(
      problemsOf([
        { name: "writer", schedules: { nightly: { type: "cron", expression: "61 * * * *" } } },
        { name: "", run: "now" },
        { name: "writer", shedules: {} },
        5,
      ]),
    ).toEqual([
      expect.stringContaining('agents[0] "writer", schedule "nightly", expression: Invalid minute "61"'),
      'agents[1] "", name: Invalid name "": expected a text of 1 to 128 characters',
      'agents[1] "", run: Invalid run "now": expected a function',
      'agents[2] "writer", shedules: Unknown key "shedules": did you mean "schedules"?',
      'agents[2] "writer", name: Two agents are named "writer", the first is agents[0]: give every agent a unique name',
      "agents[3]: Invalid agents[3] 5: expected an agent such as { name: writer, schedules: { … } }",
    ]);
  });

  it.each([
    ["env", { env: {} }],
    ["on_failure", { on_failure: "pause" }],
    ["work_source", { work_source: null }],
  ])("cannot have %s, which only a file has", (key, keys) => {
    expect(problemsOf([{ name: "a", ...keys }])[0]).toContain(`Unknown key "${key}"`);
  });

  it("may have anything in data, and nothing else that Rota does not know", () => {
    expect(() => checkAgents([{ name: "a", data: { model: "small", ask: () => {} } }])).not.toThrow();
    expect(problemsOf([{ name: "a", model: "small" }])[0]).toContain('Unknown key "model"');
  });

  it("may have the keys that the host lists in agentKeys", () => {
    expect(() => checkAgents([{ name: "a", model: "small" }], { agentKeys: ["model"] })).not.toThrow();
    expect(problemsOf([{ name: "a", model: "small" }])).toHaveLength(1);
  });

  it("cannot have a type that objects inherit as a key", () => {
    expect(problemsOf([{ name: "a", schedules: { constructor: { type: "constructor" } } }])[0]).toContain(
      "Unknown type",
    );
  });

  it.each<[string, unknown]>([
    ["method", { runtime: { type: "http", url: "http://a.example", method: Object.create(null) } }],
    ["method", { runtime: { type: "http", url: "http://a.example", method: ["POST"] } }],
    ["runtime", { runtime: { type: Object.create(null) } }],
    ["work_source", { schedules: { x: { type: "chat", work_source: { type: Object.create(null) } } } }],
  ])("are rejected for a %s that has no text", (key, agent) => {
    expect(problemsOf([Object.assign({ name: "a" }, agent)])).toEqual([expect.stringContaining(key)]);
  });

  it("must be a list", () => {
    expect(problemsOf({ name: "a" })).toEqual([
      "agents: Invalid agents with a map: expected a list of agents",
    ]);
  });
});
