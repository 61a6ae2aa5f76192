import { describe, expect, it, onTestFinished, vi } from "vitest";
import { FakeClock, MemoryStore, Scheduler } from "../../../src/index.js";
import { agent, every, scene, START } from "../scene.js";

const HOURLY = { work: every("1h") };

describe("the log of a scheduler", () => {
  it("has a line for a job that failed, with its id and its reason", async () => {
    const { scheduler, settle, ended, errors } = scene({
      work: () => {
        throw new Error("the server is down");
      },
    });
    await scheduler.start([agent("reports", HOURLY)]);
    await settle();
    expect(errors).toEqual([`reports/work failed (${ended[0]?.id}): the server is down`]);
  });

  it("has a line for a job that timed out", async () => {
    const { scheduler, clock, settle, ended, errors } = scene();
    const run = ({ signal }: { readonly signal: AbortSignal }): Promise<void> => clock.sleep("1h", signal);
    await scheduler.start([agent("reports", { work: every("1d", { timeout: "1m" }) }, { run })]);
    await settle();
    await clock.advance("1m");
    expect(ended.map(({ status }) => status)).toEqual(["timeout"]);
    expect(errors).toEqual([`reports/work failed (${ended[0]?.id}): ${ended[0]?.error}`]);
  });

  it("has no line for a job that succeeded or was cancelled", async () => {
    const { scheduler, clock, settle, ended, errors, warnings } = scene();
    const run = ({ signal }: { readonly signal: AbortSignal }): Promise<void> => clock.sleep("1h", signal);
    await scheduler.start([agent("a", HOURLY), agent("b", HOURLY, { run })]);
    await settle();
    await scheduler.stop({ waitForJobs: false });
    await settle();
    expect(ended.map(({ status }) => status)).toEqual(["completed", "cancelled"]);
    expect([errors, warnings]).toEqual([[], []]);
  });

  it("has no line for failed jobs with logFailures: false", async () => {
    const work = (): never => {
      throw new Error("the server is down");
    };
    const { scheduler, settle, ended, errors } = scene({ work, logFailures: false });
    await scheduler.start([agent("reports", HOURLY)]);
    await settle();
    expect(ended.map(({ status }) => status)).toEqual(["failed"]);
    expect(errors).toEqual([]);
  });

  it("is the console by default", async () => {
    onTestFinished(() => void vi.restoreAllMocks());
    const printed = vi.spyOn(console, "error").mockImplementation(() => {});
    vi.spyOn(console, "info").mockImplementation(() => {});
    const clock = new FakeClock(START);
    const run = (): never => {
      throw new Error("the server is down");
    };
    await using scheduler = new Scheduler({ store: new MemoryStore(), clock });
    await scheduler.start([agent("reports", HOURLY, { run })]);
    await clock.advance(0);
    expect(printed.mock.calls).toEqual([
      [expect.stringMatching(/^reports\/work failed \(job-.*\): the server is down$/)],
    ]);
  });
});
