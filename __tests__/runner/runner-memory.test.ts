/** What only a process of its own can show: that an output of any length takes little memory. */
import { describe, expect, it } from "vitest";
import { answerOf } from "./program-answer.js";

describe("the memory of a process grows by less than 25 MB", () => {
  it.each([
    ["an output of a gigabyte of a command", "command", "1000"],
    ["an output of a gigabyte of a function", "function", "1000"],
    ["an output of 200 MB in which secrets are looked for", "hidden", "200"],
    ["an output of a gigabyte of a function that nobody takes", "function-away", "1000"],
    ["an output of a gigabyte of a command that nobody takes", "command-away", "1000"],
    ["10,000 messages of 10 kB each", "messages", "100"],
    ["300 messages of a megabyte each", "long-messages", "300"],
  ])("by %s", async (_, kind, megabytes) => {
    const { grownBy, ...end } = await answerOf("much-output.js", kind, megabytes);
    expect(end).toEqual({ status: "completed", summary: "all written" });
    expect(grownBy).toBeLessThan(25_000_000);
  });

  it("by an answer of a gigabyte", async () => {
    const { grownBy, ...end } = await answerOf("much-output.js", "http", "1000");
    expect(end).toEqual({ status: "completed" });
    expect(grownBy).toBeLessThan(25_000_000);
  });
});
