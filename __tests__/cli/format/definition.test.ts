import { describe, expect, it } from "vitest";
import { agentDefinition, formatFields, scheduleDefinition } from "../../../src/cli/format/definition.js";

describe("a formatted definition", () => {
  it("hides values with names of secrets at any depth", () => {
    const runtime = {
      type: "own",
      api_key: "s3cr3t",
      login: { password: "s3cr3t", user: "me" },
      tries: [1, 2],
    };
    expect(agentDefinition({ name: "a", runtime })).toEqual({
      name: "a",
      runtime: {
        type: "own",
        api_key: "[hidden]",
        login: { password: "[hidden]", user: "me" },
        tries: [1, 2],
      },
      instances: { max_concurrent: 1 },
    });
  });

  it("shows the program of a command and the server of a URL, and hides the rest", () => {
    const runtime = {
      type: "both",
      command: ["node", "s3cr3t"],
      url: "https://example.org/s3cr3t",
      body: "s3cr3t",
    };
    expect(agentDefinition({ name: "a", runtime })["runtime"]).toEqual({
      type: "both",
      command: ["node", "[hidden]"],
      url: "https://example.org/[hidden]",
      body: "[hidden]",
    });
  });

  it("shows that an agent runs a function", () => {
    expect(agentDefinition({ name: "a", run: () => {} })["run"]).toBe("a function");
  });

  it("fits in one line", () => {
    const schedule = scheduleDefinition({
      type: "interval",
      interval: "5m",
      work_source: { type: "memory", labels: ["a", "b"] },
    });
    expect(formatFields(schedule)).toBe(
      "type: interval, interval: 5m, work_source: { type: memory, labels: [a b] }",
    );
  });
});
