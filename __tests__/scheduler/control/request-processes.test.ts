/** Several processes ask one scheduler at the same time. */
import { describe, expect, it, onTestFinished } from "vitest";
import { Child } from "../../state/child.js";
import { stateDirectory } from "../../state/temporary-directory.js";

interface Answer {
  readonly job_id?: string;
  readonly refusal?: string;
  readonly ms: number;
}

const isReady = (line: string): boolean => line === "ready";

async function answersOf(child: Child, count: number): Promise<Answer[]> {
  const found = (): string[] => child.lines.filter((line) => line.startsWith("answer "));
  await child.line(() => found().length >= count);
  return found().map((line) => JSON.parse(line.slice("answer ".length)) as Answer);
}

describe("a scheduler that several processes ask at the same time", () => {
  it("starts one job of a schedule, refuses the rest with the right reason, and answers all at once", async () => {
    const stateDir = stateDirectory();
    await using scheduler = new Child("requested-scheduler.js", [stateDir]);
    await scheduler.line(isReady);
    const askers = Array.from({ length: 4 }, () => new Child("asker.js", [stateDir]));
    onTestFinished(async () => {
      for (const asker of askers) await asker[Symbol.asyncDispose]();
    });
    for (const asker of askers) await asker.line(isReady);
    for (const asker of askers) asker.say("slow {}");
    const answers = (await Promise.all(askers.map((asker) => answersOf(asker, 1)))).flat();
    expect(answers.filter(({ job_id }) => job_id !== undefined)).toHaveLength(1);
    expect(answers.filter(({ refusal }) => refusal === "already_running")).toHaveLength(3);
    expect(scheduler.lines.filter((line) => line.startsWith("ran"))).toHaveLength(1);
    // Ten seconds and more, when the state had one place for all of them.
    for (const { ms } of answers) expect(ms).toBeLessThan(3_000);
  });

  it("answers within milliseconds, not at its next look", async () => {
    const stateDir = stateDirectory();
    await using scheduler = new Child("requested-scheduler.js", [stateDir]);
    await using asker = new Child("asker.js", [stateDir]);
    await scheduler.line(isReady);
    await asker.line(isReady);
    for (let index = 0; index < 20; index++) asker.say(`a${index} {}`);
    const times = (await answersOf(asker, 20)).map(({ ms }) => ms).toSorted((a, b) => a - b);
    // The quickest: this machine may be busy.
    expect(times[0]).toBeLessThan(50);
  });

  it("starts one job for a key, whoever asks", async () => {
    const stateDir = stateDirectory();
    await using scheduler = new Child("requested-scheduler.js", [stateDir]);
    await scheduler.line(isReady);
    await using one = new Child("asker.js", [stateDir]);
    await using two = new Child("asker.js", [stateDir]);
    await Promise.all([one.line(isReady), two.line(isReady)]);
    for (const asker of [one, two])
      for (let ask = 0; ask < 3; ask++) asker.say(`a0 {"key":"k","prompt":"P"}`);
    const answers = (await Promise.all([answersOf(one, 3), answersOf(two, 3)])).flat();
    expect(new Set(answers.map(({ job_id }) => job_id)).size).toBe(1);
    expect(answers[0]?.job_id).toMatch(/^job-/);
    expect(scheduler.lines.filter((line) => line.startsWith("ran"))).toHaveLength(1);
    one.say(`a0 {"key":"k","prompt":"Q"}`);
    expect((await answersOf(one, 4)).at(-1)).toMatchObject({ refusal: "key_reused" });
  });
});
