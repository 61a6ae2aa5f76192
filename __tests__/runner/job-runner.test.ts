/** A job that ends at once costs as little as can be: what nobody asks for is not made. */
import { describe, expect, it } from "vitest";
import { FakeClock } from "../../src/clock.js";
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

function runner(): JobRunner {
  const openOutput = (): Promise<never> => Promise.reject(new Error("nothing is to be written"));
  return new JobRunner({ clock: new FakeClock(), logger: loggerInto([]), openOutput });
}

const boom = (): never => {
  throw new Error("boom");
};

describe("a job that ends at once", () => {
  it("has its result at once, and nothing was made that it did not ask for", () => {
    const request = new WatchedRequest(() => "done");
    const result = runner().run(request, "Do it");
    expect(result).toEqual({ success: true, jobId, status: "completed", summary: "done", durationMs: 0 });
    expect(request.asked).toEqual([]);
  });

  it("and has nothing to say has no result: that is success", () => {
    expect(runner().run(new WatchedRequest(() => 42), "Do it")).toBeUndefined();
  });

  it("by throwing has its result at once too", () => {
    const result = runner().run(new WatchedRequest(boom), "Do it");
    expect(result).toEqual({ success: false, jobId, status: "failed", error: "boom", durationMs: 0 });
  });

  it("has its result at once although it may take only so long", () => {
    expect(runner().run(new WatchedRequest(() => "done", 1_000), "Do it")).toMatchObject({
      status: "completed",
    });
  });
});

describe("what a job writes after its end", () => {
  it.each([
    ["at once", (): unknown => "done"],
    ["later", (): unknown => Promise.resolve("done")],
    ["by throwing", boom],
  ])("that came %s opens no output", async (_, end) => {
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
  it("is that of who cancels it where nobody else may end it, and is made once", () => {
    const request = new WatchedRequest(({ signal }) => {
      request.cancel();
      return signal.aborted ? "heard" : "not heard";
    });
    expect(runner().run(request, "Do it")).toMatchObject({ summary: "heard" });
  });

  it("of a job with a timeout has fired for who looks at it after it was cancelled", () => {
    const request = new WatchedRequest((job) => {
      request.cancel();
      return job.signal.aborted ? "heard" : "not heard";
    }, 1_000);
    expect(runner().run(request, "Do it")).toMatchObject({ summary: "heard" });
  });

  it("that fires while the job starts ends it", async () => {
    const request = new WatchedRequest(({ signal }) => {
      const ended = new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      request.cancel();
      return ended;
    }, 1_000);
    expect(await runner().run(request, "Do it")).toMatchObject({ status: "cancelled", error: "not needed" });
  });
});

describe("a job that was cancelled and does not end", () => {
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

  it("is given up after the grace", async () => {
    expect(await cancelled({}, "10s")).toMatchObject({ status: "cancelled" });
  });

  it("is waited for where that is wanted", async () => {
    expect(await cancelled({ cancelGraceMs: Infinity }, "30d")).toBe("still running");
  });

  it("is given up all the same when its time is up", async () => {
    const limited = { cancelGraceMs: Infinity, timeout: 60_000 };
    expect(await cancelled(limited, "69s")).toBe("still running");
    expect(await cancelled(limited, "70s")).toMatchObject({ success: false });
  });
});
