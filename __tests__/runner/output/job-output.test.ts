/** Who asks for a job's output has it with the result: what is in the log, or its end. */
import { describe, expect, it } from "vitest";
import type { RuntimeJob } from "../../../src/runner/runtime.js";
import { Scene } from "../scene.js";

const saying =
  (text: string) =>
  (job: RuntimeJob): Promise<void> =>
    job.write(text);
const withOutput = true;

describe("the output in a result", () => {
  it("is what the job wrote", async () => {
    const { result } = await new Scene().run({ run: saying("one\ntwo\n") }, { withOutput });
    expect(result).toMatchObject({ status: "completed", output: "one\ntwo\n" });
  });

  it("is there for a failed job, and for a job whose record the caller passed in", async () => {
    const scene = new Scene();
    const job = await scene.store.jobs.start({ agent: "worker", trigger: "manual" });
    const run = async ({ log }: RuntimeJob): Promise<void> => {
      log("so far");
      throw new Error("boom");
    };
    const { result } = await scene.run({ run }, { withOutput, job });
    expect(result).toMatchObject({
      status: "failed",
      output: expect.stringMatching(/^so far\nError: boom\n {4}at /),
    });
  });

  it("is neither there nor read without withOutput", async () => {
    const scene = new Scene();
    let reads = 0;
    const read = scene.store.jobs.readOutput.bind(scene.store.jobs);
    scene.store.jobs.readOutput = (id) => (reads++, read(id));
    const result = await scene.executor.execute({ agent: { name: "a", run: saying("x") }, prompt: "" });
    expect(result).not.toHaveProperty("output");
    expect(reads).toBe(0);
  });

  it("is absent when the job wrote nothing", async () => {
    const { result } = await new Scene().run({ run: () => "done" }, { withOutput });
    expect(result).not.toHaveProperty("output");
  });

  it.each([
    ["whole up to 100 kB", "x".repeat(102_400), "x".repeat(102_400)],
    ["the last 100 kB of a longer one", `first${"x".repeat(102_400)}`, `…${"x".repeat(102_400)}`],
    ["cut without half a character", `😀${"x".repeat(102_399)}`, `…${"x".repeat(102_399)}`],
  ])("is %s", async (_, text, output) => {
    const { result } = await new Scene().run({ run: saying(text) }, { withOutput });
    expect(result.output === output).toBe(true);
  });

  it.each([
    ["cannot be read", () => Promise.reject(new Error("boom")), "boom"],
    ["hangs", () => new Promise<never>(() => {}), "the store did not reply in 30000 ms."],
  ])("is left out with a line in the log when it %s", async (_, readOutput, reason) => {
    const scene = new Scene();
    scene.store.jobs.readOutput = readOutput;
    const running = scene.executor.execute({
      agent: { name: "worker", run: saying("x") },
      prompt: "",
      withOutput,
    });
    await scene.clock.advance("30s");
    const result = await running;
    expect(result).toMatchObject({ status: "completed" });
    expect(result).not.toHaveProperty("output");
    expect(scene.lines).toEqual([`Could not read the output of ${result.jobId}: ${reason}`]);
  });
});
