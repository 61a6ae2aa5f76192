/** A scheduler that is killed while it carries requests out. */
import { describe, expect, it } from "vitest";
import { Child } from "../../state/child.js";
import { stateDirectory } from "../../state/temporary-directory.js";

const isReady = (line: string): boolean => line === "ready";
const runsOf = (child: Child): Record<string, unknown>[] =>
  child.lines
    .filter((line) => line.startsWith("ran "))
    .map((line) => JSON.parse(line.slice(4)) as Record<string, unknown>);

describe("a scheduler on files that is killed", () => {
  it("while a job with a prompt and data runs: the job runs again with both, once", async () => {
    const stateDir = stateDirectory();
    await using asker = new Child("asker.js", [stateDir]);
    await asker.line(isReady);
    {
      await using killed = new Child("requested-scheduler.js", [stateDir]);
      await killed.line(isReady);
      asker.say(`slow {"prompt":"P {{x}}","data":{"x":1},"key":"k"}`);
      await killed.line((line) => line.startsWith("ran"));
      killed.signal("SIGKILL");
    }
    await using next = new Child("requested-scheduler.js", [stateDir]);
    await next.line((line) => line.startsWith("ran"));
    expect(runsOf(next)).toMatchObject([{ prompt: "P 1", data: { x: 1 }, attempt: 2 }]);
    const answer = await asker.line((line) => line.startsWith("answer"));
    // The same key still names the job that was started first.
    asker.say(`slow {"prompt":"P {{x}}","data":{"x":1},"key":"k"}`);
    await asker.line(() => asker.lines.filter((line) => line.startsWith("answer")).length === 2);
    const [first, second] = [answer, asker.lines.at(-1) ?? ""].map(
      (line) => /"job_id":"(job-[\w-]+)"/.exec(line)?.[1],
    );
    expect(first).toMatch(/^job-/);
    expect(second).toBe(first);
  });

  it("at any moment while requests come: each starts at most one job of its own", async () => {
    const stateDir = stateDirectory();
    await using asker = new Child("asker.js", [stateDir]);
    await asker.line(isReady);
    const first: Record<string, unknown>[] = [];
    for (let index = 0; index < 30; index++) asker.say(`a${index} {"data":${index}}`);
    for (let round = 0; round < 3; round++) {
      await using scheduler = new Child("requested-scheduler.js", [stateDir]);
      await scheduler.line(isReady);
      await scheduler.line(() => runsOf(scheduler).length >= 4);
      scheduler.signal("SIGKILL");
      await scheduler[Symbol.asyncDispose]();
      first.push(...runsOf(scheduler).filter(({ attempt }) => attempt === 1));
    }
    await using last = new Child("requested-scheduler.js", [stateDir]);
    await asker.line(() => asker.lines.filter((line) => line.startsWith("answer")).length === 30);
    first.push(...runsOf(last).filter(({ attempt }) => attempt === 1));
    expect(first.length).toBeGreaterThan(12);
    expect(new Set(first.map(({ data }) => data)).size).toBe(first.length);
  });
});
