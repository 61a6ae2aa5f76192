/** What only a process of its own can show: what blocks it, what it hears of, and that no job keeps it alive. */
import { describe, expect, it } from "vitest";
import { answerOf } from "./program-answer.js";

describe("a command that leaves a process behind", () => {
  it("does not keep the parent process alive", async () => {
    const { status, pid } = await answerOf("leave-behind.js");
    process.kill(Number(pid), "SIGKILL");
    expect(status).toBe("completed");
  });
});

describe("a job with a timeout of one second that blocks the event loop for five", () => {
  it.each([
    ["at once", "Timed out after 1000 ms", 0],
    ["later", "Timed out after 1000 ms", 0],
    ["never", "Timed out after 1000 ms, and abandoned 100 ms later", 1],
  ])("has timed out when it returns %s, and its process ends", async (when, error, abandonedCount) => {
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
  it("ends, and Node reports the error as uncaught", async () => {
    expect(await answerOf("throwing-listener.js")).toEqual({
      status: "timeout",
      recorded: "timeout",
      runningCount: 0,
      uncaught: ["boom"],
    });
  });
});
