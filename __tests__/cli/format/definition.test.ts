import { describe, expect, it } from "vitest";
import { agentDefinition, fieldsInWords, scheduleDefinition } from "../../../src/cli/format/definition.js";

describe("a definition that is shown", () => {
  it("hides what is named as a secret, however deep", () => {
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

  it("names the program and the server, and hides the rest of a command and an address", () => {
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

  it("says that an agent runs a function", () => {
    expect(agentDefinition({ name: "a", run: () => {} })["run"]).toBe("a function");
  });

  it("is put into one line", () => {
    const schedule = scheduleDefinition({
      type: "interval",
      interval: "5m",
      work_source: { type: "memory", labels: ["a", "b"] },
    });
    expect(fieldsInWords(schedule)).toBe(
      "type: interval, interval: 5m, work_source: { type: memory, labels: [a b] }",
    );
  });
});
