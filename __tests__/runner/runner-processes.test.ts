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

describe("an output of a gigabyte", () => {
  it("of a command makes this process grow by less than 50 MB", async () => {
    const { grownBy, ...end } = await answerOf("much-output.js", "command", "1000");
    expect(end).toEqual({ status: "completed", summary: "all written" });
    expect(grownBy).toBeLessThan(50_000_000);
  });
});

describe("an output of 100 MB", () => {
  it.each([
    ["in which secrets are looked for", "hidden"],
    ["of messages", "messages"],
  ])("%s makes this process grow by less than 50 MB", async (_, kind) => {
    const { grownBy, ...end } = await answerOf("much-output.js", kind, "100");
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
