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
