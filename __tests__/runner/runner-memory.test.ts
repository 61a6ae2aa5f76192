/** How much memory a long output takes, measured in a process of its own. */
import { describe, expect, it } from "vitest";
import { answerOf } from "./program-answer.js";

const MOST_GROWTH = 25_000_000;
/** Node 24 reads a pipe with more buffers at the same time than earlier versions. */
const PIPE_BUFFERS = 20_000_000;

describe("the memory of a process that runs a job", () => {
  it.each([
    ["a command that writes a gigabyte", "command", "1000", PIPE_BUFFERS],
    ["a function that writes a gigabyte", "function", "1000", 0],
    ["a command that writes 200 MB which are searched for secrets", "hidden", "200", 0],
    ["a function that writes a gigabyte while the log is away", "function-away", "1000", 0],
    ["a command that writes a gigabyte while the log is away", "command-away", "1000", 0],
    ["an SDK that sends 10,000 messages of 10 kB", "messages", "100", 0],
    ["an SDK that sends 300 messages of a megabyte", "long-messages", "300", 0],
  ])("does not grow with the output of %s", async (_, kind, megabytes, allowance) => {
    const { grownBy, ...end } = await answerOf("much-output.js", kind, megabytes);
    expect(end).toEqual({ status: "completed", summary: "all written" });
    expect(grownBy).toBeLessThan(MOST_GROWTH + allowance);
  });

  it("does not grow with an HTTP response of a gigabyte", async () => {
    const { grownBy, ...end } = await answerOf("much-output.js", "http", "1000");
    expect(end).toEqual({ status: "completed" });
    expect(grownBy).toBeLessThan(MOST_GROWTH);
  });
});
