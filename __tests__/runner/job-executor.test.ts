/** Whatever a job does, it ends, and its record says how. */
import { describe, expect, it } from "vitest";
import { FakeClock } from "../../src/clock.js";
import { JobExecutor } from "../../src/runner/job-executor.js";
import type { RunnerResult } from "../../src/runner/runner-result.js";
import type { RunnableAgent, RuntimeJob } from "../../src/runner/runtime.js";
import { FileStore } from "../../src/state/file-store.js";
import { stateDirectory } from "../state/temporary-directory.js";
import { answering } from "./custom-runtimes.js";
import { loggerInto, Scene, settleable } from "./scene.js";

const never = (): Promise<never> => new Promise(() => {});
const boom = (): never => {
  throw new Error("boom");
};

/** After every ending. */
function expectOver({ executor }: Scene): void {
  expect(executor.runningCount).toBe(0);
}

describe("a job that succeeds", () => {
  it.each([
    ["at once", (): unknown => "done"],
    ["later", (): unknown => Promise.resolve("done")],
  ])("%s has what it answered as its summary", async (_, run) => {
    const { result, record } = await new Scene().run({ run });
    expect(result).toEqual({
      success: true,
      jobId: record?.id,
      status: "completed",
      summary: "done",
      durationMs: 0,
    });
    expect(record).toMatchObject({ status: "completed", summary: "done", error: null });
  });

  it("is told all about itself", async () => {
    const jobs: RuntimeJob[] = [];
    const run = (job: RuntimeJob): void => void jobs.push(job);
    const { record } = await new Scene().run(
      { run },
      { schedule: "hourly", workItem: { id: "7" }, attempt: 3 },
    );
    expect(jobs[0]).toMatchObject({
      jobId: record?.id,
      schedule: "hourly",
      prompt: "Do it",
      workItem: { id: "7" },
      attempt: 3,
      record: { status: "running" },
    });
  });

  it("has its record open before it starts", async () => {
    const scene = new Scene();
    const seen: unknown[] = [];
    const run = async ({ jobId }: RuntimeJob): Promise<void> =>
      void seen.push((await scene.store.jobs.get(jobId))?.status);
    await scene.run({ run }, { triggerType: "cron", slot: new Date(0), source: "baseline-cron" });
    expect(seen).toEqual(["running"]);
    expect(await scene.store.jobs.list()).toMatchObject([
      { trigger: "cron", slot: "1970-01-01T00:00:00.000Z", source: "baseline-cron", prompt: "Do it" },
    ]);
  });

  it("has its lines and pieces in its output, in their order", async () => {
    const run = ({ log, write }: RuntimeJob): void => {
      log("one");
      void write("two ");
      void write(Buffer.from("three\n"));
      log("four");
    };
    expect((await new Scene().run({ run })).output).toBe("one\ntwo three\nfour\n");
  });

  it("keeps the bytes it wrote although it uses their buffer again", async () => {
    const run = ({ write }: RuntimeJob): void => {
      const buffer = Buffer.from("first");
      void write(buffer);
      buffer.fill("x");
    };
    expect((await new Scene().run({ run })).output).toBe("first");
  });
});

describe("a job that fails", () => {
  const huge = {
    list: Array.from({ length: 100_000 }, (_, at) => `item ${at}`),
    toString: () => "x".repeat(1e6),
  };

  it.each([
    ["throws", boom, "boom"],
    ["throws after it wrote", ({ log }: RuntimeJob) => (log("line"), boom()), "boom"],
    ["rejects", () => Promise.reject(new Error("boom")), "boom"],
    ["rejects with null", () => Promise.reject(null), "null"],
    ["rejects with text", () => Promise.reject("no luck"), "no luck"],
    ["rejects with a huge object", () => Promise.reject(huge), `${"x".repeat(4_000)}…`],
    [
      "answers what cannot be waited for",
      () => ({
        // oxlint-disable-next-line unicorn/no-thenable
        get then() {
          return boom();
        },
      }),
      "boom",
    ],
  ])("because it %s has said why", async (_, run: (job: RuntimeJob) => unknown, error) => {
    const scene = new Scene();
    const { result, record } = await scene.run({ run });
    expect(result).toMatchObject({ success: false, status: "failed", error });
    expect(record).toMatchObject({ status: "failed", error });
    expectOver(scene);
  });

  it("and succeeds a moment later has failed", async () => {
    const twice = {
      // oxlint-disable-next-line unicorn/no-thenable
      then: (resolve: (value: unknown) => void, reject: (error: unknown) => void) => {
        reject(new Error("first"));
        resolve("second");
        reject(new Error("third"));
      },
    };
    const scene = new Scene();
    expect((await scene.run({ run: () => twice })).record).toMatchObject({
      status: "failed",
      error: "first",
    });
    expectOver(scene);
  });
});

describe("a job with a timeout", () => {
  it("is told to end when its time is up", async () => {
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

  it("of its own goes by that, and not by its agent's", async () => {
    const scene = new Scene();
    const run = ({ signal }: RuntimeJob): Promise<void> => scene.clock.sleep("1h", signal);
    const { result } = await scene.run({ run, timeout: "5s" }, { timeout: 2_000 }, "3s");
    expect(result).toMatchObject({ status: "timeout", durationMs: 2_000 });
  });

  it("has timed out also when it succeeds within the grace", async () => {
    const scene = new Scene();
    const run = async (): Promise<string> => {
      await scene.clock.sleep("7s");
      return "late";
    };
    const { result } = await scene.run({ run, timeout: "5s" }, {}, "8s");
    expect(result).toMatchObject({ success: false, status: "timeout", summary: "late", durationMs: 7_000 });
  });

  it.each([
    ["at once", (): unknown => "done"],
    ["later", (): unknown => Promise.resolve("done")],
  ])("that blocks the event loop beyond it and answers %s has timed out", async (_, answer) => {
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

  it.each([-1, 0, Number.NaN, "soon"])("of %s fails, and is not run", async (timeout) => {
    let runs = 0;
    const { result } = await new Scene().run({ run: () => runs++, timeout });
    expect(result).toMatchObject({
      status: "failed",
      error: expect.stringContaining("expected milliseconds"),
    });
    expect(runs).toBe(0);
  });

  it("leaves no timer behind", async () => {
    const scene = new Scene();
    await scene.run({ run: () => Promise.resolve(), timeout: "5s" });
    expect(scene.clock.sleeping).toBe(0);
  });
});

describe("a job that does not end when it is told to", () => {
  it("is given up after the grace, and counted", async () => {
    const scene = new Scene();
    const { result, record } = await scene.run({ run: never, timeout: "5s" }, {}, "15s");
    const error = "Timed out after 5000 ms, and given up 10000 ms later";
    expect(result).toMatchObject({ status: "timeout", error, durationMs: 15_000 });
    expect(record).toMatchObject({ status: "timeout", error });
    expect(scene.executor.abandonedCount).toBe(1);
    expectOver(scene);
  });

  it("is not given up before", async () => {
    const scene = new Scene({ graceMs: 3_000 });
    const running = scene.executor.execute({ agent: { name: "a", run: never, timeout: 1_000 }, prompt: "" });
    await scene.clock.advance(3_999);
    expect(scene.executor.runningCount).toBe(1);
    await scene.clock.advance(1);
    expect(await running).toMatchObject({ status: "timeout" });
  });

  it("is waited for all the same where the grace never ends", async () => {
    const scene = new Scene({ graceMs: Infinity });
    const run = async (): Promise<void> => scene.clock.sleep("1h");
    const { result } = await scene.run({ run, timeout: "5s" }, {}, "1h");
    expect(result).toMatchObject({ status: "timeout", durationMs: 3_600_000 });
    expect(scene.executor.abandonedCount).toBe(0);
  });

  it.each([
    ["answer", (late: ReturnType<typeof settleable>) => late.resolve("too late")],
    ["rejection", (late: ReturnType<typeof settleable>) => late.reject(new Error("too late"))],
  ])("has its late %s dropped, with a line that says so", async (_, settle) => {
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
      `${result.jobId} of worker ended 2000 ms after it was given up: its result is dropped.`,
    );
    expect(await scene.store.jobs.get(result.jobId)).toMatchObject({ status: "timeout", summary: null });
  });

  it("writes nothing any more", async () => {
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
    expect(scene.lines).toEqual([expect.stringContaining("it is given up")]);
  });
});

describe("a job that is cancelled", () => {
  const start = (
    { executor }: Scene,
    agent: Partial<RunnableAgent>,
    { signal }: AbortController,
  ): Promise<RunnerResult> => executor.execute({ agent: { name: "worker", ...agent }, prompt: "", signal });

  it("is told to end, with the reason", async () => {
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

  it("is told so although it has a timeout", async () => {
    const scene = new Scene();
    const controller = new AbortController();
    const run = ({ signal }: RuntimeJob): Promise<void> => scene.clock.sleep("1h", signal);
    const running = start(scene, { run, timeout: "30m" }, controller);
    await scene.clock.advance("1s");
    controller.abort(new Error("not needed"));
    expect(await running).toMatchObject({ status: "cancelled", error: "not needed" });
    expect(scene.clock.sleeping).toBe(0);
  });

  it("and does not listen is given up after the same grace", async () => {
    const scene = new Scene();
    const controller = new AbortController();
    const running = start(scene, { run: never }, controller);
    await scene.clock.advance("1s");
    controller.abort(new Error("not needed"));
    await scene.clock.advance("10s");
    expect(await running).toMatchObject({
      status: "cancelled",
      error: "Cancelled: not needed, and given up 10000 ms later",
    });
  });

  it("before it starts is not run", async () => {
    let runs = 0;
    const signal = AbortSignal.abort(new Error("not needed"));
    const { result, record } = await new Scene().run({ run: () => runs++ }, { signal });
    expect(result).toMatchObject({ status: "cancelled", error: "Cancelled before it started: not needed" });
    expect(record).toMatchObject({ status: "cancelled" });
    expect(runs).toBe(0);
  });

  it("and succeeds all the same has completed", async () => {
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

  it("leaves no listener at the signal", async () => {
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

describe("the record of a job", () => {
  it("is left to a caller who has opened it", async () => {
    const scene = new Scene();
    const job = await scene.store.jobs.start({ agent: "worker", trigger: "manual" });
    const { result } = await scene.run({ run: ({ log }) => log("line") }, { job });
    expect(result).toMatchObject({ jobId: job.id, status: "completed" });
    expect(await scene.store.jobs.list()).toMatchObject([{ id: job.id, status: "running" }]);
    expect(await scene.store.jobs.readOutput(job.id)).toBe("line\n");
  });

  it("that cannot be opened keeps the job from running", async () => {
    const scene = new Scene();
    let runs = 0;
    scene.store.jobs.start = async () => boom();
    const result = await scene.executor.execute({ agent: { name: "a", run: () => runs++ }, prompt: "" });
    expect(result).toMatchObject({ success: false, status: "failed", error: "boom" });
    expect(runs).toBe(0);
  });

  it("that cannot be closed at first is closed when it can", async () => {
    const scene = new Scene();
    const finish = scene.store.jobs.finish.bind(scene.store.jobs);
    let tries = 0;
    scene.store.jobs.finish = async (...args) => (++tries < 3 ? boom() : finish(...args));
    expect((await scene.run({ run: () => "done" }, {}, "2s")).record).toMatchObject({ status: "completed" });
    expect(tries).toBe(3);
  });

  it("has nowhere to be without a store or a directory", async () => {
    const result = await new JobExecutor().execute({ agent: { name: "a", run: () => "done" }, prompt: "" });
    expect(result).toMatchObject({
      success: false,
      error: expect.stringContaining("give a store or a stateDir"),
    });
  });

  it("has no part of an answer that no record can hold", async () => {
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

  it("has no response that is longer than what is kept of any", async () => {
    const scene = new Scene(answering({ success: true, responseBody: "x".repeat(200_000) }));
    expect((await scene.run({ runtime: { type: "custom" } })).record).toMatchObject({
      status: "completed",
      response_body: null,
    });
  });
});

describe("an executor with a directory", () => {
  it("records jobs there beside the owner", async () => {
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
