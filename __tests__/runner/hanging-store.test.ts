/** A store that does not answer keeps nobody waiting for ever, and no record stays open that nobody will close. */
import { describe, expect, it } from "vitest";
import type { RunnerResult } from "../../src/runner/result.js";
import { Scene, settleable } from "./scene.js";

const never = (): Promise<never> => new Promise(() => {});

/** A store whose `start` opens a record only when it is let. */
function slowToStart(scene: Scene): () => void {
  const gate = settleable<void>();
  const start = scene.store.jobs.start.bind(scene.store.jobs);
  scene.store.jobs.start = async (job) => {
    await gate.promise;
    return start(job);
  };
  return () => gate.resolve();
}

async function runSlowly(scene: Scene, run: () => unknown): Promise<RunnerResult> {
  const running = scene.executor.execute({ agent: { name: "worker", run }, prompt: "" });
  await scene.clock.advance("30s");
  return running;
}

describe("a store that is slow to open a record", () => {
  it("keeps the job from running after storeTimeoutMs, and the result says so", async () => {
    const scene = new Scene();
    let runs = 0;
    slowToStart(scene);
    expect(await runSlowly(scene, () => runs++)).toEqual({
      success: false,
      jobId: "",
      status: "failed",
      error: "The job was not run: the store did not open its record in 30000 ms.",
      durationMs: 0,
    });
    expect(runs).toBe(0);
    expect(scene.executor.runningCount).toBe(0);
  });

  it("is waited for until storeTimeoutMs", async () => {
    const scene = new Scene();
    const letStart = slowToStart(scene);
    const running = scene.executor.execute({ agent: { name: "worker", run: () => "done" }, prompt: "" });
    await scene.clock.advance(29_999);
    letStart();
    expect(await running).toMatchObject({ status: "completed", summary: "done" });
    expect(scene.clock.sleeping).toBe(0);
  });

  it("keeps the job from running after a configured storeTimeoutMs", async () => {
    const scene = new Scene({ storeTimeoutMs: 50 });
    slowToStart(scene);
    expect((await runSlowly(scene, () => "done")).error).toContain("in 50 ms");
  });

  it("gets the late record closed", async () => {
    const scene = new Scene();
    const letStart = slowToStart(scene);
    await runSlowly(scene, () => "done");
    letStart();
    await scene.clock.advance(0);
    const error = "The job was not run: the store opened its record too late.";
    const jobs = await scene.store.jobs.list();
    expect(jobs).toMatchObject([{ status: "failed", error }]);
    expect(scene.lines).toEqual([`${jobs[0]?.id} of worker: ${error}`]);
  });

  it("may fail later without effect", async () => {
    const scene = new Scene();
    const late = settleable<never>();
    scene.store.jobs.start = () => late.promise;
    await runSlowly(scene, () => "done");
    late.reject(new Error("too late"));
    await scene.clock.advance(0);
    expect(scene.lines).toEqual([]);
  });
});

describe("a store that does not close a record", () => {
  it("does not change the result of the job, and is logged once", async () => {
    const scene = new Scene();
    let tries = 0;
    scene.store.jobs.finish = () => {
      tries++;
      return never();
    };
    const result = await runSlowly(scene, () => "done");
    expect(result).toMatchObject({ success: true, status: "completed", summary: "done" });
    expect(tries).toBe(1);
    expect(scene.lines).toEqual([
      `Could not record the end of ${result.jobId}: the store did not reply in 30000 ms.`,
    ]);
    expect(scene.executor.runningCount).toBe(0);
    expect(scene.clock.sleeping).toBe(0);
  });
});

describe("a store that throws instead of rejecting", () => {
  const boom = (): never => {
    throw new Error("boom");
  };

  it("fails the job when it throws while opening the record", async () => {
    const scene = new Scene();
    scene.store.jobs.start = boom;
    expect(await runSlowly(scene, () => "done")).toMatchObject({ status: "failed", error: "boom" });
  });

  it("does not change the result when it throws while closing the record", async () => {
    const scene = new Scene();
    scene.store.jobs.finish = boom;
    expect(await runSlowly(scene, () => "done")).toMatchObject({ status: "completed" });
    expect(scene.lines).toHaveLength(3);
  });
});
