/** What Rota promises about the record of a job and the history of jobs, one test a promise. */
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { FakeClock } from "../../src/clock.js";
import { FileJobLog } from "../../src/state/file/jobs/file-job-log.js";
import { temporaryDirectory } from "../state/temporary-directory.js";

describe("the record of a job", () => {
  it("has status running and its attempt from the start, then how it ended: status, duration, code, body, error, source", async () => {
    using temporary = temporaryDirectory();
    const clock = new FakeClock("2026-03-01T09:00:00Z");
    await using log = new FileJobLog({ directory: join(temporary.path, "jobs"), clock });
    const slot = "2026-03-01T09:00:00.000Z";
    const { id } = await log.start({
      agent: "probe",
      schedule: "hourly",
      trigger: "cron",
      slot,
      source: "baseline-cron",
      attempt: 3,
    });
    const during = {
      id,
      status: "running",
      attempt: 3,
      source: "baseline-cron",
      started_at: slot,
      duration_ms: null,
    };
    expect(await log.get(id)).toMatchObject(during);

    await clock.advance("4s");
    const outcome = {
      status: "failed",
      exit_code: 503,
      response_body: { retry: true },
      error: "HTTP 503",
    } as const;
    await log.finish(id, outcome);
    expect(await log.get(id)).toMatchObject({
      ...during,
      ...outcome,
      finished_at: "2026-03-01T09:00:04.000Z",
      duration_ms: 4000,
    });
  });
});

describe("the history of jobs", () => {
  it("lists past jobs newest first: of 30, the latest 10, and only jobs that match the filter", async () => {
    using temporary = temporaryDirectory();
    const clock = new FakeClock("2026-03-01T09:00:00Z");
    await using log = new FileJobLog({ directory: join(temporary.path, "jobs"), clock });
    const started: string[] = [];
    for (let run = 0; run < 30; run++) {
      const { id } = await log.start({
        agent: run % 3 === 0 ? "reader" : "writer",
        trigger: "interval",
        attempt: run + 1,
      });
      await log.finish(id, { status: run % 5 === 0 ? "failed" : "completed" });
      started.unshift(id);
      await clock.advance("1h");
    }
    const attempts = async (filter: Parameters<FileJobLog["list"]>[0]): Promise<number[]> =>
      (await log.list(filter)).map(({ attempt }) => attempt);
    expect((await log.list({ limit: 10 })).map(({ id }) => id)).toEqual(started.slice(0, 10));
    expect(await attempts({ limit: 3, agent: "reader" })).toEqual([28, 25, 22]);
    expect(await attempts({ status: "failed" })).toEqual([26, 21, 16, 11, 6, 1]);
    expect(await attempts({ since: new Date("2026-03-02T12:00:00Z") })).toEqual([30, 29, 28]);
  });
});
