/** What is kept of a job, by whom, and where. */
import { describe, expect, it } from "vitest";
import { JobExecutor } from "../../src/runner/job-executor.js";
import type { RuntimeJob } from "../../src/runner/runtime.js";
import { FileStore } from "../../src/state/file/file-store.js";
import { stateDirectory } from "../state/temporary-directory.js";
import { answering } from "./runtimes/custom-runtimes.js";
import { expectOver, loggerInto, Scene } from "./scene.js";

const boom = (): never => {
  throw new Error("boom");
};

describe("the record of a job", () => {
  it("stays open when the caller passed it in", async () => {
    const scene = new Scene();
    const job = await scene.store.jobs.start({ agent: "worker", trigger: "manual" });
    const { result } = await scene.run({ run: ({ log }) => log("line") }, { job });
    expect(result).toMatchObject({ jobId: job.id, status: "completed" });
    expect(await scene.store.jobs.list()).toMatchObject([{ id: job.id, status: "running" }]);
    expect(await scene.store.jobs.readOutput(job.id)).toBe("line\n");
  });

  it("that cannot be opened prevents the job from running", async () => {
    const scene = new Scene();
    let runs = 0;
    scene.store.jobs.start = async () => boom();
    const result = await scene.executor.execute({ agent: { name: "a", run: () => runs++ }, prompt: "" });
    expect(result).toMatchObject({ success: false, status: "failed", error: "boom" });
    expect(runs).toBe(0);
  });

  it("is closed by a later try when the first one fails", async () => {
    const scene = new Scene();
    const finish = scene.store.jobs.finish.bind(scene.store.jobs);
    let tries = 0;
    scene.store.jobs.finish = async (...args) => (++tries < 3 ? boom() : finish(...args));
    expect((await scene.run({ run: () => "done" }, {}, "2s")).record).toMatchObject({ status: "completed" });
    expect(tries).toBe(3);
  });

  it("is refused without a store or a state directory", async () => {
    const result = await new JobExecutor().execute({ agent: { name: "a", run: () => "done" }, prompt: "" });
    expect(result).toMatchObject({
      success: false,
      error: "No store configured: pass `store` or `stateDir`.",
    });
  });

  it("leaves out fields of a result that it cannot hold", async () => {
    const cyclic: Record<string, unknown> = { success: true, exitCode: 1.5, summary: 7 };
    cyclic["responseBody"] = cyclic;
    const scene = new Scene(answering(cyclic));
    expect((await scene.run({ runtime: { type: "custom" } })).record).toMatchObject({
      status: "completed",
      summary: null,
      exit_code: null,
      response_body: null,
    });
    expectOver(scene);
  });

  it("leaves out a response that is longer than the limit", async () => {
    const scene = new Scene(answering({ success: true, responseBody: "x".repeat(200_000) }));
    expect((await scene.run({ runtime: { type: "custom" } })).record).toMatchObject({
      status: "completed",
      response_body: null,
    });
  });
});

describe("a JobExecutor with a stateDir", () => {
  it("records jobs there while a scheduler owns the directory", async () => {
    const stateDir = stateDirectory();
    await using owner = new FileStore({ stateDir });
    await owner.open();
    const lines: string[] = [];
    const executor = new JobExecutor({ logger: loggerInto(lines) });
    const agent = { name: "worker", run: ({ log }: RuntimeJob): string => (log("line"), "done") };
    const results = await Promise.all(
      [1, 2, 3].map(() => executor.execute({ agent, prompt: "Do it", stateDir })),
    );
    expect(results.map(({ status }) => status)).toEqual(["completed", "completed", "completed"]);
    expect(await owner.jobs.list({ status: "completed" })).toHaveLength(3);
    expect(await owner.jobs.readOutput(results[0]?.jobId ?? "")).toBe("line\n");
    expect(lines).toEqual([]);
  });
});
