import { describe, expect, it } from "vitest";
import { RunModel } from "../../../src/cli/run/run-model.js";
import { FakeClock, type JobRecord } from "../../../src/index.js";
import { NOON } from "./run-view.js";

const job = (id: string, parts: Partial<JobRecord> = {}): { readonly job: JobRecord } => ({
  job: { id, agent: "a", schedule: "x", status: "running", ...parts } as JobRecord,
});

describe("the model of a run", () => {
  it("contains a job from its start to its end", () => {
    const model = new RunModel(new FakeClock(NOON), ".rota");
    model.apply({ event: "job:started", details: job("one") });
    expect([...model.running.keys()]).toEqual(["a/x"]);
    model.apply({ event: "job:finished", details: job("one", { status: "completed" }) });
    expect(model.running.size).toBe(0);
  });

  it("keeps a job that started before the previous job's end was reported", () => {
    const model = new RunModel(new FakeClock(NOON), ".rota");
    model.apply({ event: "job:started", details: job("one") });
    model.apply({ event: "job:started", details: job("two") });
    model.apply({ event: "job:finished", details: job("one", { status: "completed" }) });
    expect(model.running.get("a/x")?.jobId).toBe("two");
  });

  it("counts finished and failed jobs", () => {
    const model = new RunModel(new FakeClock(NOON), ".rota");
    model.apply({ event: "job:finished", details: job("one", { status: "completed" }) });
    model.apply({ event: "job:finished", details: job("two", { status: "timeout", error: "too slow" }) });
    expect([model.finishedCount, model.failedCount]).toEqual([2, 1]);
    expect(model.last.get("a/x")).toEqual({ status: "timeout", endedAt: NOON, error: "too slow" });
  });
});
