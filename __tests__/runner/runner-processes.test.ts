/** What only a process of its own can show: what blocks it, what it hears of, and that no job keeps it alive. */
import { describe, expect, it } from "vitest";
import { answerOf } from "./program-answer.js";

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
    ["never", "Timed out after 1000 ms, and given up 100 ms later", 1],
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
