/** Timeouts, cancellation and grace: when a job is told to end, and when the runner abandons it. */
import { describe, expect, it } from "vitest";
import { FakeClock } from "../../src/clock.js";
import type { RunnerResult } from "../../src/runner/result.js";
import type { RunnableAgent, RuntimeJob } from "../../src/runner/runtime.js";
import { expectOver, Scene, settleable } from "./scene.js";

const never = (): Promise<never> => new Promise(() => {});

describe("a job with a timeout", () => {
  it("has its signal fired at the timeout", async () => {
    const scene = new Scene();
    const told: string[] = [];
    const run = ({ signal }: RuntimeJob): Promise<void> => {
      signal.addEventListener("abort", () => told.push(`${scene.clock.time()} ${String(signal.reason)}`));
      return scene.clock.sleep("1h", signal);
    };
    const { result, record } = await scene.run({ run, timeout: "5s" }, {}, "6s");
    expect(told).toEqual(["00:00:05 TimeoutError: Timed out after 5000 ms"]);
    expect(result).toMatchObject({
      success: false,
      status: "timeout",
      error: "Timed out after 5000 ms",
      durationMs: 5_000,
    });
    expect(record).toMatchObject({ status: "timeout", duration_ms: 5_000 });
    expectOver(scene);
  });

  it("in its options ignores the timeout of its agent", async () => {
    const scene = new Scene();
    const run = ({ signal }: RuntimeJob): Promise<void> => scene.clock.sleep("1h", signal);
    const { result } = await scene.run({ run, timeout: "5s" }, { timeout: 2_000 }, "3s");
    expect(result).toMatchObject({ status: "timeout", durationMs: 2_000 });
  });

  it("has timed out even when it succeeds within the grace", async () => {
    const scene = new Scene();
    const run = async (): Promise<string> => {
      await scene.clock.sleep("7s");
      return "late";
    };
    const { result } = await scene.run({ run, timeout: "5s" }, {}, "8s");
    expect(result).toMatchObject({ success: false, status: "timeout", summary: "late", durationMs: 7_000 });
  });

  it.each([
    ["a value", (): unknown => "done"],
    ["a promise", (): unknown => Promise.resolve("done")],
  ])("has timed out when it blocks the event loop past the timeout and returns %s", async (_, answer) => {
    let blockedMs = 0;
    class BlockedClock extends FakeClock {
      override monotonic(): number {
        return super.monotonic() + blockedMs;
      }
    }
    const scene = new Scene({ clock: new BlockedClock() });
    const run = (): unknown => {
      blockedMs = 9_000;
      return answer();
    };
    const { result } = await scene.run({ run, timeout: "5s" });
    expect(result).toMatchObject({ success: false, status: "timeout", durationMs: 9_000 });
    expectOver(scene);
  });

  it.each([-1, 0, Number.NaN, "soon"])("of %s fails without being run", async (timeout) => {
    let runs = 0;
    const { result } = await new Scene().run({ run: () => runs++, timeout });
    expect(result).toMatchObject({
      status: "failed",
      error: expect.stringContaining("expected milliseconds"),
    });
    expect(runs).toBe(0);
  });

  it("leaves no timer when it ends in time", async () => {
    const scene = new Scene();
    await scene.run({ run: () => Promise.resolve(), timeout: "5s" });
    expect(scene.clock.sleeping).toBe(0);
  });
});

describe("a job that ignores its signal after its timeout", () => {
  it("is abandoned after the grace, and counted", async () => {
    const scene = new Scene();
    const { result, record } = await scene.run({ run: never, timeout: "5s" }, {}, "15s");
    const error = "Timed out after 5000 ms, and abandoned 10000 ms later";
    expect(result).toMatchObject({ status: "timeout", error, durationMs: 15_000 });
    expect(record).toMatchObject({ status: "timeout", error });
    expect(scene.executor.abandonedCount).toBe(1);
    expectOver(scene);
  });

  it("is not abandoned within the grace", async () => {
    const scene = new Scene({ graceMs: 3_000 });
    const running = scene.executor.execute({ agent: { name: "a", run: never, timeout: 1_000 }, prompt: "" });
    await scene.clock.advance(3_999);
    expect(scene.executor.runningCount).toBe(1);
    await scene.clock.advance(1);
    expect(await running).toMatchObject({ status: "timeout" });
  });

  it("is waited for without end when graceMs is Infinity", async () => {
    const scene = new Scene({ graceMs: Infinity });
    const run = async (): Promise<void> => scene.clock.sleep("1h");
    const { result } = await scene.run({ run, timeout: "5s" }, {}, "1h");
    expect(result).toMatchObject({ status: "timeout", durationMs: 3_600_000 });
    expect(scene.executor.abandonedCount).toBe(0);
  });

  it.each([
    ["value", (late: ReturnType<typeof settleable>) => late.resolve("too late")],
    ["rejection", (late: ReturnType<typeof settleable>) => late.reject(new Error("too late"))],
  ])("has its late %s ignored, with a line in the log", async (_, settle) => {
    const scene = new Scene();
    const late = settleable();
    const run = (): PromiseLike<unknown> => ({
      // oxlint-disable-next-line unicorn/no-thenable
      then: (...listeners) => late.promise.then(...listeners),
    });
    const { result } = await scene.run({ run, timeout: "5s" }, {}, "15s");
    await scene.clock.advance("2s");
    settle(late);
    await scene.clock.advance(0);
    expect(scene.lines.at(-1)).toBe(
      `${result.jobId} of worker ended 2000 ms after it was abandoned: its result is ignored.`,
    );
    expect(await scene.store.jobs.get(result.jobId)).toMatchObject({ status: "timeout", summary: null });
  });

  it("can no longer write output once it is abandoned", async () => {
    const scene = new Scene();
    let log: RuntimeJob["log"] = () => {};
    const run = (job: RuntimeJob): Promise<never> => {
      ({ log } = job);
      log("in time");
      return never();
    };
    const { result } = await scene.run({ run, timeout: "5s" }, {}, "15s");
    log("too late");
    await scene.clock.advance(0);
    expect(await scene.store.jobs.readOutput(result.jobId)).toBe("in time\n");
    expect(scene.lines).toEqual([expect.stringContaining("it is abandoned")]);
  });
});

describe("a cancelled job", () => {
  const start = (
    { executor }: Scene,
    agent: Partial<RunnableAgent>,
    { signal }: AbortController,
  ): Promise<RunnerResult> => executor.execute({ agent: { name: "worker", ...agent }, prompt: "", signal });

  it("has its signal fired with the reason", async () => {
    const scene = new Scene();
    const controller = new AbortController();
    const run = ({ signal }: RuntimeJob): Promise<void> => scene.clock.sleep("1h", signal);
    const running = start(scene, { run }, controller);
    await scene.clock.advance("1s");
    controller.abort(new Error("not needed"));
    const { result, record } = await scene.ended(await running);
    expect(result).toMatchObject({ success: false, status: "cancelled", error: "not needed" });
    expect(record).toMatchObject({ status: "cancelled" });
    expectOver(scene);
  });

  it("has its signal fired although it has a timeout", async () => {
    const scene = new Scene();
    const controller = new AbortController();
    const run = ({ signal }: RuntimeJob): Promise<void> => scene.clock.sleep("1h", signal);
    const running = start(scene, { run, timeout: "30m" }, controller);
    await scene.clock.advance("1s");
    controller.abort(new Error("not needed"));
    expect(await running).toMatchObject({ status: "cancelled", error: "not needed" });
    expect(scene.clock.sleeping).toBe(0);
  });

  it("that ignores its signal is abandoned after the grace", async () => {
    const scene = new Scene();
    const controller = new AbortController();
    const running = start(scene, { run: never }, controller);
    await scene.clock.advance("1s");
    controller.abort(new Error("not needed"));
    await scene.clock.advance("10s");
    expect(await running).toMatchObject({
      status: "cancelled",
      error: "Cancelled: not needed, and abandoned 10000 ms later",
    });
  });

  it("is not run when it was cancelled before its start", async () => {
    let runs = 0;
    const signal = AbortSignal.abort(new Error("not needed"));
    const { result, record } = await new Scene().run({ run: () => runs++ }, { signal });
    expect(result).toMatchObject({ status: "cancelled", error: "Cancelled before it started: not needed" });
    expect(record).toMatchObject({ status: "cancelled" });
    expect(runs).toBe(0);
  });

  it("that succeeds has completed", async () => {
    const scene = new Scene();
    const controller = new AbortController();
    const run = async (): Promise<string> => {
      await scene.clock.sleep("2s");
      return "done";
    };
    const running = start(scene, { run }, controller);
    await scene.clock.advance("1s");
    controller.abort();
    await scene.clock.advance("1s");
    expect(await running).toMatchObject({ status: "completed", summary: "done" });
  });

  it("leaves no listener on the signal when it ends", async () => {
    const signal = new AbortController().signal;
    let listeners = 0;
    const add = signal.addEventListener.bind(signal);
    const remove = signal.removeEventListener.bind(signal);
    signal.addEventListener = (...args: Parameters<typeof add>) => (listeners++, add(...args));
    signal.removeEventListener = (...args: Parameters<typeof remove>) => (listeners--, remove(...args));
    const { result } = await new Scene().run({ run: () => Promise.resolve("done") }, { signal });
    expect(result.status).toBe("completed");
    expect(listeners).toBe(0);
  });
});
