/** What only a process of its own can show: how much memory a job takes, and that none keeps the process alive. */
import { describe, expect, it } from "vitest";
import { Child } from "../state/child.js";

const program = (name: string): string => new URL(`processes/${name}`, import.meta.url).href;

async function answerOf(name: string, ...args: string[]): Promise<Record<string, unknown>> {
  await using child = new Child(program(name), args);
  await child.end();
  expect(child.exitCode).toBe(0);
  return JSON.parse(child.lines.at(-1) ?? "") as Record<string, unknown>;
}

describe("the memory of a process grows by less than 30 MB", () => {
  it.each([
    ["an output of a gigabyte of a command", "command", "1000"],
    ["an output of a gigabyte of a function", "function", "1000"],
    ["an output of 200 MB in which secrets are looked for", "hidden", "200"],
    ["300 messages of a megabyte each", "long-messages", "300"],
  ])("by %s", async (_, kind, megabytes) => {
    const { grownBy, ...end } = await answerOf("much-output.js", kind, megabytes);
    expect(end).toEqual({ status: "completed", summary: "all written" });
    expect(grownBy).toBeLessThan(30_000_000);
  });

  it("by an answer of a gigabyte", async () => {
    const { grownBy, ...end } = await answerOf("much-output.js", "http", "1000");
    expect(end).toEqual({ status: "completed" });
    expect(grownBy).toBeLessThan(30_000_000);
  });
});

describe("the memory of a process grows by less than 50 MB", () => {
  it("by 10,000 messages that an SDK makes", async () => {
    const { grownBy, ...end } = await answerOf("much-output.js", "messages", "100");
    expect(end).toEqual({ status: "completed", summary: "all written" });
    expect(grownBy).toBeLessThan(50_000_000);
  });
});

describe("a command that leaves a process behind", () => {
  it("does not keep this one alive", async () => {
    const { status, pid } = await answerOf("leave-behind.js");
    process.kill(Number(pid), "SIGKILL");
    expect(status).toBe("completed");
  });
});

describe("a job that blocks the event loop for five seconds, and may take one", () => {
  it.each([
    ["at once", "Timed out after 1000 ms", 0],
    ["later", "Timed out after 1000 ms", 0],
    ["and then never", "Timed out after 1000 ms, and given up 100 ms later", 1],
  ])("and answers %s has timed out, and its process ends", async (when, error, abandonedCount) => {
    expect(await answerOf("block-loop.js", when)).toEqual({
      status: "timeout",
      error,
      recorded: "timeout",
      runningCount: 0,
      abandonedCount,
    });
  });
});

describe("a job whose abort listener throws", () => {
  it("ends all the same, and Node tells its host of what nobody could catch", async () => {
    expect(await answerOf("throwing-listener.js")).toEqual({
      status: "timeout",
      recorded: "timeout",
      runningCount: 0,
      uncaught: ["boom"],
    });
  });
});
