/** JobRunner: results, signals and grace, without a store. A job that returns at once makes as little as possible. */
import { describe, expect, it } from "vitest";
import { FakeClock } from "../../src/clock.js";
import type { JobOutput } from "../../src/state/job-log/job-log.js";
import { JobRunner } from "../../src/runner/job-runner.js";
import type { JobRequest } from "../../src/runner/job-context.js";
import type { RunnableAgent, RuntimeJob } from "../../src/runner/runtime.js";
import { loggerInto } from "./scene.js";

const jobId = "job-2026-01-01-aaaaaa";

/** A request that tells which of its parts were asked for. */
class WatchedRequest implements JobRequest {
  readonly id: string = jobId;
  readonly agent: RunnableAgent;
  readonly asked: string[] = [];
  readonly #controller = new AbortController();

  constructor(run: (job: RuntimeJob) => unknown, timeout?: number) {
    this.agent = { name: "worker", run, timeout };
  }

  get attempt(): number {
    this.asked.push("attempt");
    return 1;
  }

  get job(): undefined {
    this.asked.push("job");
    return undefined;
  }

  get signal(): AbortSignal {
    this.asked.push("signal");
    return this.#controller.signal;
  }

  cancel(): void {
    this.#controller.abort(new Error("not needed"));
  }
}

function runner(clock = new FakeClock()): JobRunner {
  const openOutput = (): Promise<never> => Promise.reject(new Error("nothing is to be written"));
  return new JobRunner({ clock, logger: loggerInto([]), openOutput });
}

const boom = (): never => {
  throw new Error("boom");
};

describe("JobRunner with a job that returns without a promise", () => {
  it("makes no signal, attempt or record that the job does not ask for", async () => {
    const request = new WatchedRequest(() => "done");
    const result = await runner().run(request, "Do it");
    expect(result).toEqual({ success: true, jobId, status: "completed", summary: "done", durationMs: 0 });
    expect(request.asked).toEqual([]);
  });

  it("calls the job before `run` returns", () => {
    let calls = 0;
    void runner().run(new WatchedRequest(() => calls++), "Do it");
    expect(calls).toBe(1);
  });

  it("takes a value that is not text as success without a summary, and keeps it", async () => {
    const result = await runner().run(new WatchedRequest(() => 42), "Do it");
    expect(result).toEqual({ success: true, jobId, status: "completed", durationMs: 0, responseBody: 42 });
  });

  it("returns a failure when the job throws", async () => {
    const chunks: string[] = [];
    const output: JobOutput = {
      write: async (chunk) => void chunks.push(String(chunk)),
      close: async () => {},
    };
    const result = await new JobRunner({
      clock: new FakeClock(),
      logger: loggerInto([]),
      openOutput: async () => output,
    }).run(new WatchedRequest(boom), "Do it");
    expect(result).toEqual({ success: false, jobId, status: "failed", error: "boom", durationMs: 0 });
    expect(chunks.join("")).toMatch(/^Error: boom\n {4}at /);
  });

  it("sets no timer for a job with a timeout", async () => {
    const clock = new FakeClock();
    expect(await runner(clock).run(new WatchedRequest(() => "done", 1_000), "Do it")).toMatchObject({
      status: "completed",
    });
    expect(clock.sleeping).toBe(0);
  });
});

describe("a write after the end of a job", () => {
  it.each([
    ["returns a value", (): unknown => "done"],
    ["returns a promise", (): unknown => Promise.resolve("done")],
    [
      "throws a text, which has no stack",
      (): never => {
        // oxlint-disable-next-line no-throw-literal -- a job may throw anything
        throw "boom";
      },
    ],
  ])("opens no output when the job %s", async (_, end) => {
    let opened = 0;
    let log: RuntimeJob["log"] = () => {};
    const openOutput = async (): Promise<never> => {
      opened++;
      return boom();
    };
    await new JobRunner({ clock: new FakeClock(), logger: loggerInto([]), openOutput }).run(
      new WatchedRequest((job) => {
        ({ log } = job);
        return end();
      }),
      "Do it",
    );
    log("too late");
    await Promise.resolve();
    expect(opened).toBe(0);
  });
});

describe("the signal of a job", () => {
  it("is the request's own for a job without a timeout", async () => {
    const request = new WatchedRequest(({ signal }) => {
      request.cancel();
      return signal.aborted ? "heard" : "not heard";
    });
    expect(await runner().run(request, "Do it")).toMatchObject({ summary: "heard" });
  });

  it("has fired when a job with a timeout first reads it after it was cancelled", async () => {
    const request = new WatchedRequest((job) => {
      request.cancel();
      return job.signal.aborted ? "heard" : "not heard";
    }, 1_000);
    expect(await runner().run(request, "Do it")).toMatchObject({ summary: "heard" });
  });

  it("ends a job with a timeout when it fires while the job starts", async () => {
    const request = new WatchedRequest(({ signal }) => {
      const ended = new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      request.cancel();
      return ended;
    }, 1_000);
    expect(await runner().run(request, "Do it")).toMatchObject({ status: "cancelled", error: "not needed" });
  });
});

describe("a cancelled job that does not end", () => {
  const never = (): Promise<never> => new Promise(() => {});

  async function cancelled(
    options: { readonly cancelGraceMs?: number; readonly timeout?: number },
    advance: string,
  ): Promise<unknown> {
    const clock = new FakeClock();
    const { timeout, ...grace } = options;
    const openOutput = (): Promise<never> => never();
    const patient = new JobRunner({ clock, logger: loggerInto([]), openOutput, ...grace });
    const request = new WatchedRequest(never, timeout);
    let result: unknown = "still running";
    const waiting = async (): Promise<void> => {
      result = await patient.run(request, "Do it");
    };
    void waiting();
    request.cancel();
    await clock.advance(advance);
    return result;
  }

  it("is abandoned after the grace", async () => {
    expect(await cancelled({}, "10s")).toMatchObject({ status: "cancelled" });
  });

  it("is waited for without end when cancelGraceMs is Infinity", async () => {
    expect(await cancelled({ cancelGraceMs: Infinity }, "30d")).toBe("still running");
  });

  it("is abandoned after its timeout and grace, although cancelGraceMs is Infinity", async () => {
    const limited = { cancelGraceMs: Infinity, timeout: 60_000 };
    expect(await cancelled(limited, "69s")).toBe("still running");
    expect(await cancelled(limited, "70s")).toMatchObject({ success: false });
  });
});
