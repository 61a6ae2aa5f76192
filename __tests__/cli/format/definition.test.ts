import { describe, expect, it } from "vitest";
import {
  agentDefinition,
  formatFields,
  scheduleDefinition,
  secretVariables,
} from "../../../src/cli/format/definition.js";

describe("a formatted definition", () => {
  it("hides values with names of secrets at any depth", () => {
    const runtime = {
      type: "queue" as const,
      api_key: "s3cr3t",
      login: { password: "s3cr3t", user: "me" },
      tries: [1, 2],
    };
    expect(agentDefinition({ name: "a", runtime })).toEqual({
      name: "a",
      runtime: {
        type: "queue",
        api_key: "[hidden]",
        login: { password: "[hidden]", user: "me" },
        tries: [1, 2],
      },
      instances: { max_concurrent: 1 },
    });
  });

  it.each([
    [
      ["node", "count.js", "--fast"],
      ["node", "count.js", "--fast"],
    ],
    [
      ["curl", "--token", "abc", "x"],
      ["curl", "--token", "[hidden]", "x"],
    ],
    [
      ["curl", "--api-key=abc"],
      ["curl", "--api-key=[hidden]"],
    ],
    [
      ["curl", "-H", "Authorization: Bearer abc"],
      ["curl", "-H", "[hidden]"],
    ],
    [
      ["psql", "postgres://me:abc@db/app"],
      ["psql", "[hidden]"],
    ],
    [
      ["run", "sk-abcdef"],
      ["run", "[hidden]"],
    ],
    [
      ["run", "x=from-environment"],
      ["run", "[hidden]"],
    ],
    [
      ["run", "own-value"],
      ["run", "[hidden]"],
    ],
  ])("shows the arguments of the command %j unless they are secrets", (command, expected) => {
    const runtime = { type: "command" as const, command, env: { MINE: "own-value" } };
    const secrets = secretVariables({ HIDE_ME: "from-environment", HOME: "node", SHORT: "x" });
    expect(agentDefinition({ name: "a", runtime }, secrets)["runtime"]).toMatchObject({ command: expected });
  });

  it("shows the server of a URL, and hides the rest", () => {
    const runtime = {
      type: "both" as const,
      command: ["node"],
      url: "https://example.org/s3cr3t",
      body: "s3cr3t",
    };
    expect(agentDefinition({ name: "a", runtime })["runtime"]).toEqual({
      type: "both",
      command: ["node"],
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
      work_source: { type: "tickets", labels: ["a", "b"] },
    });
    expect(formatFields(schedule)).toBe(
      "type: interval, interval: 5m, work_source: { type: tickets, labels: [a, b] }",
    );
  });
});
