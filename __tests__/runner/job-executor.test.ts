/** Whatever a job does, it ends, and its record says how. */
import { describe, expect, it } from "vitest";
import type { ExecuteOptions } from "../../src/runner/job-executor.js";
import type { RuntimeJob } from "../../src/runner/runtime.js";
import { expectOver, Scene } from "./scene.js";

const SLOT = "2026-03-01T03:00:00.000Z";

const boom = (): never => {
  throw new Error("boom");
};

describe("a job that succeeds", () => {
  it.each([
    ["a text", (): unknown => "done"],
    ["a promise of a text", (): unknown => Promise.resolve("done")],
  ])("has the text as its summary when it returns %s", async (_, run) => {
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

  it("receives its id, agent, schedule, prompt, work item, attempt and record", async () => {
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

  it.each<[string, Partial<ExecuteOptions>, Date | null, string | null]>([
    [
      "a Date, and a key that names schedule and slot",
      { schedule: "hourly", slot: new Date(SLOT) },
      new Date(SLOT),
      `worker/hourly@${SLOT}`,
    ],
    [
      "a Date also where the caller gave text",
      { schedule: "hourly", slot: "2026-03-01T04:00:00+01:00" },
      new Date(SLOT),
      `worker/hourly@${SLOT}`,
    ],
    ["no key without a schedule", { slot: SLOT }, new Date(SLOT), null],
    ["null where it has none", { schedule: "hourly" }, null, null],
  ])("receives its slot: %s", async (_, options, slot, key) => {
    const seen: unknown[] = [];
    const run = (job: RuntimeJob): void => void seen.push(job.slot, job.key);
    await new Scene().run({ run }, options);
    expect(seen).toEqual([slot, key]);
  });

  it("has an open record when it starts", async () => {
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

  it("has its log lines and writes in its output, in their order", async () => {
    const run = ({ log, write }: RuntimeJob): void => {
      log("one");
      void write("two ");
      void write(Buffer.from("three\n"));
      log("four");
    };
    expect((await new Scene().run({ run })).output).toBe("one\ntwo three\nfour\n");
  });

  it("keeps the bytes that it wrote when it reuses their buffer", async () => {
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
      "returns an object whose `then` throws",
      () => ({
        // oxlint-disable-next-line unicorn/no-thenable
        get then() {
          return boom();
        },
      }),
      "boom",
    ],
  ])(
    "has the reason in its result and record when it %s",
    async (_, run: (job: RuntimeJob) => unknown, error) => {
      const scene = new Scene();
      const { result, record } = await scene.run({ run });
      expect(result).toMatchObject({ success: false, status: "failed", error });
      expect(record).toMatchObject({ status: "failed", error });
      expectOver(scene);
    },
  );

  it("has failed even when its thenable resolves after it rejected", async () => {
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

describe("what a job returns", () => {
  it.each<[string, unknown, object, object]>([
    [
      "a result that succeeded",
      { success: true, summary: "did it", exitCode: 0, responseBody: { a: 1 } },
      { success: true, status: "completed", summary: "did it", exitCode: 0, responseBody: { a: 1 } },
      { summary: "did it", exit_code: 0, response_body: { a: 1 } },
    ],
    [
      "a result that failed",
      { success: false, error: "no", summary: "tried" },
      { success: false, status: "failed", error: "no", summary: "tried" },
      { status: "failed", error: "no", summary: "tried" },
    ],
    [
      "a result with an Error",
      { success: false, error: new Error("no") },
      { status: "failed", error: "no" },
      { error: "no" },
    ],
    [
      "a result that timed out",
      { success: false, timedOut: true },
      { status: "timeout" },
      { status: "timeout" },
    ],
    [
      "an object",
      { found: [1, 2] },
      { responseBody: { found: [1, 2] } },
      { response_body: { found: [1, 2] } },
    ],
    [
      "an object without a prototype",
      Object.assign(Object.create(null), { a: 1 }),
      {},
      { response_body: { a: 1 } },
    ],
    ["a list", [1, "two"], { responseBody: [1, "two"] }, { response_body: [1, "two"] }],
    ["a number", 7, { responseBody: 7 }, { response_body: 7 }],
    ["a zero", 0, { responseBody: 0 }, { response_body: 0 }],
    ["a boolean", false, { responseBody: false }, { response_body: false }],
    ["a success that is not a boolean", { success: "yes" }, { responseBody: { success: "yes" } }, {}],
    ["an empty text", "", { summary: "" }, {}],
  ])("is kept when it is %s", async (_, returned, result, record) => {
    for (const run of [() => returned, () => Promise.resolve(returned)]) {
      const ended = await new Scene().run({ run });
      expect(ended.result).toMatchObject(result);
      expect(ended.record).toMatchObject(record);
    }
  });

  const cyclic: Record<string, unknown> = {};
  cyclic["self"] = cyclic;
  it.each<[string, unknown]>([
    ["nothing", undefined],
    ["null", null],
    ["a cyclic object", cyclic],
    ["a bigint", 7n],
    ["a function", () => {}],
    ["NaN", Number.NaN],
    ["an object of a class", new URL("https://example.org")],
    ["a Map", new Map([[1, 2]])],
    ["bytes", Buffer.from("abc")],
    ["more than 100 kB", ["x".repeat(110_000)]],
    ["a value that throws", { toJSON: boom }],
  ])("is not kept when it is %s, and the job succeeds", async (_, returned) => {
    for (const run of [() => returned, () => Promise.resolve(returned)]) {
      const { result, record } = await new Scene().run({ run });
      expect(result).toEqual({ success: true, jobId: record?.id, status: "completed", durationMs: 0 });
      expect(record).toMatchObject({ status: "completed", summary: null, response_body: null });
    }
  });
});

describe("the output of a job that throws", () => {
  const deep = (): never => {
    throw new Error("could not write the report", {
      cause: new TypeError("disk full", { cause: "no space left" }),
    });
  };

  it.each([
    ["at once", (): unknown => deep()],
    ["later", async (): Promise<unknown> => deep()],
  ])("has the stack and the causes (%s)", async (_, run) => {
    const { result, output } = await new Scene().run({
      run: (job) => {
        job.log("working");
        return run();
      },
    });
    expect(result.error).toBe("could not write the report");
    const lines = output?.split("\n") ?? [];
    expect(lines.slice(0, 2)).toEqual(["working", "Error: could not write the report"]);
    expect(lines[2]).toMatch(/^ {4}at deep \(.*job-executor\.test\.ts/);
    expect(output).toMatch(/\nCaused by: TypeError: disk full\n {4}at /);
    expect(output).toMatch(/\nCaused by: no space left\n$/);
  });

  it("has the errors of an AggregateError, and ends where causes go in circles", async () => {
    const first = new Error("first");
    const second = new Error("second", { cause: first });
    first.cause = second;
    const { output } = await new Scene().run({
      run: () => Promise.any([Promise.reject(first), Promise.reject(second)]),
    });
    expect(output).toMatch(/^AggregateError: All promises were rejected/);
    expect(output?.match(/Caused by: Error: first\n/g)).toHaveLength(1);
    expect(output?.match(/Caused by: Error: second\n/g)).toHaveLength(1);
  });

  it("is cut when it would be long", async () => {
    const run = (): never => {
      throw new Error("x".repeat(10_000_000));
    };
    expect((await new Scene().run({ run })).output?.length).toBeLessThan(70_000);
  });

  it.each([
    ["a text was thrown", "boom"],
    ["nothing was thrown", undefined],
    ["the error has no stack", Object.assign(new Error("boom"), { stack: undefined })],
  ])("is empty when %s", async (_, thrown) => {
    const { result, output } = await new Scene().run({ run: () => Promise.reject(thrown) });
    expect(result.status).toBe("failed");
    expect(output).toBeUndefined();
  });

  it("has no stack when reading it throws", async () => {
    const trap = Object.defineProperty(new Error("boom"), "stack", { get: boom });
    const { result, output } = await new Scene().run({ run: () => Promise.reject(trap) });
    expect(result).toMatchObject({ status: "failed", error: "boom" });
    expect(output).toBeUndefined();
  });

  it("has no stack of a job that ends because it was told to", async () => {
    const scene = new Scene();
    const run = ({ signal }: RuntimeJob): Promise<void> => scene.clock.sleep("1h", signal);
    const { result, output } = await scene.run({ run, timeout: "5s" }, {}, "5s");
    expect(result.status).toBe("timeout");
    expect(output).toBeUndefined();
  });

  it("has no stack when the agent cannot run jobs at all", async () => {
    const { result, output } = await new Scene().run({ runtime: { type: "unknown" } });
    expect(result.status).toBe("failed");
    expect(output).toBeUndefined();
  });
});
