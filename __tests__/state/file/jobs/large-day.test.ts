/** A day of very many jobs: what opening costs, in proportion to the file and not in milliseconds. */
import { mkdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { FakeClock } from "../../../../src/clock.js";
import { FileJobLog } from "../../../../src/state/file/jobs/file-job-log.js";
import { endLine, startLine } from "../../../../src/state/file/jobs/job-line.js";
import { temporaryDirectory } from "../../temporary-directory.js";
import { WatchedDisk } from "../../watched-disk.js";

const DAY = "2026-11-15";
const JOBS = 20_000;
const MOST_BYTES_AT_ONCE = 1_000_000;
const SIGNATURE = "999999999-1-000000000000-000000000000000000000000";

const idOf = (number: number): string => `job-${DAY}-${number.toString(36).padStart(8, "0")}`;

/** Writes a day on which all jobs but the first have ended. */
function largeDay(directory: string): string {
  const at = `${DAY}T08:00:00.000Z`;
  const lines: string[] = [];
  for (let number = 0; number < JOBS; number++) {
    const start = {
      id: idOf(number),
      agent: "writer",
      schedule: "often",
      trigger: "interval",
      slot: at,
      source: "baseline-interval",
      attempt: 1,
      prompt: null,
      work_item: null,
      started_at: at,
    } as const;
    lines.push(startLine(start, SIGNATURE));
    const end = {
      status: "completed",
      finished_at: at,
      duration_ms: 0,
      error: null,
      summary: "x".repeat(100),
      exit_code: 0,
      response_body: null,
      work_item: null,
    } as const;
    if (number > 0) lines.push(endLine(start.id, end, 0, SIGNATURE));
  }
  mkdirSync(directory);
  const path = join(directory, `${DAY}.jsonl`);
  writeFileSync(path, `${lines.join("\n")}\n`);
  return path;
}

describe("a job log with a day of very many jobs", () => {
  it("reads the day in pieces when it recovers, finds records and appends, and finds what a whole reading would", async () => {
    using temporary = temporaryDirectory();
    const directory = join(temporary.path, "jobs");
    const path = largeDay(directory);
    expect(statSync(path).size).toBeGreaterThan(5 * MOST_BYTES_AT_ONCE);
    const watched = new WatchedDisk();
    let turns = 0;
    let isDone = false;
    const count = (): void => {
      turns++;
      if (!isDone) setImmediate(count);
    };
    await using log = new FileJobLog({
      directory,
      clock: new FakeClock(`${DAY}T09:00:00Z`),
      disk: watched.disk,
    });
    setImmediate(count);
    const last = idOf(JOBS - 1);
    expect([...(await log.unrecordedJobs([last, idOf(0), idOf(JOBS)]))]).toEqual([idOf(0), idOf(JOBS)]);
    expect([...(await log.closedRecords([last, idOf(0)])).keys()]).toEqual([last]);
    expect(await log.recover()).toEqual([idOf(0)]);
    isDone = true;
    const bytes = statSync(path).size;
    // Each piece is a read of its own, after which timers and requests have their turn.
    expect(watched.count(/^read /)).toBeGreaterThanOrEqual((4 * bytes) / MOST_BYTES_AT_ONCE - 4);
    expect(turns).toBeGreaterThanOrEqual((4 * bytes) / MOST_BYTES_AT_ONCE - 4);
    expect(await log.get(idOf(0))).toMatchObject({ status: "interrupted" });
    expect(await log.finish(last, { status: "failed" })).toBe(false);
    await expect(
      log.start({ id: last, agent: "writer", schedule: "often", trigger: "interval" }),
    ).rejects.toMatchObject({ code: "INVALID_STATE" });
  });
});
