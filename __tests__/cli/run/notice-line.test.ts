import { describe, expect, it } from "vitest";
import { noticeLine } from "../../../src/cli/run/notice-line.js";
import type { Notice } from "../../../src/cli/run/notice.js";
import type { JobRecord } from "../../../src/index.js";
import { every } from "../../scheduler/scene.js";
import { JOB, NOON } from "./run-view.js";

const RECORD: JobRecord = {
  id: JOB,
  agent: "a",
  schedule: "x",
  trigger: "interval",
  slot: null,
  source: "baseline-interval",
  attempt: 1,
  prompt: null,
  work_item: null,
  started_at: NOON.toISOString(),
  status: "running",
  finished_at: null,
  duration_ms: null,
  error: null,
  summary: null,
  exit_code: null,
  response_body: null,
};

const lineOf = (notice: Notice, isIdleRun = false): string | undefined => {
  const line = noticeLine(notice, { definitionOf: () => every("5m"), isIdleRun });
  return line && `${line.subject} ${line.what} ${line.more}`;
};
const started = (job: Partial<JobRecord>): string | undefined =>
  lineOf({ event: "job:started", details: { job: { ...RECORD, ...job } } });
const finished = (job: Partial<JobRecord>, isIdleRun = false): string | undefined =>
  lineOf({ event: "job:finished", details: { job: { ...RECORD, ...job } } }, isIdleRun);

describe("the line of a started job", () => {
  it.each([
    [{ source: "baseline-interval" }, "every 5m"],
    [{ source: "baseline-interval", attempt: 3 }, "every 5m, slower after 2 failures"],
    [{ source: "first-run" }, "first run"],
    [{ source: "catch-up" }, "catch-up for a missed run"],
    [{ source: "manual" }, "triggered manually"],
    [{ source: "ai-interval" }, "hint, changed interval"],
    [{ source: "ai-oneshot" }, "hint, one extra run"],
  ] as const)("shows the reason: %j", (job, why) => {
    expect(started(job)).toBe(`a/x started ${JOB}: ${why}`);
  });
});

describe("the line of an ended job", () => {
  it.each([
    [{ status: "completed", duration_ms: 1_500, summary: "3 sent" }, `completed ${JOB} after 1s: 3 sent`],
    [{ status: "completed", duration_ms: 20 }, `completed ${JOB} after 20ms`],
    [{ status: "failed", duration_ms: 20, error: "no" }, `failed ${JOB} after 20ms: no`],
    [{ status: "failed", summary: "its last line" }, `failed ${JOB}: its last line`],
    [{ status: "timeout", duration_ms: 60_000, error: "too slow" }, `timeout ${JOB} after 1m: too slow`],
  ] as const)("shows its status and its result: %j", (job, shown) => {
    expect(finished(job)).toBe(`a/x ${shown}`);
  });

  it("shows that the job found no work", () => {
    expect(finished({ status: "completed", duration_ms: 20 }, true)).toBe(
      `a/x completed ${JOB} after 20ms: found no work`,
    );
  });

  it("has no control characters", () => {
    expect(finished({ status: "failed", error: "one\ntwo \u001b[2J" })).toBe(
      `a/x failed ${JOB}: one two \ufffd[2J`,
    );
  });
});

describe("the line of a skipped slot", () => {
  it.each([
    ["at_capacity", "waits for capacity"],
    ["paused", "waits for the end of the pause"],
  ] as const)("that only waits shows the reason: %s", (reason, words) => {
    const details = { agent: "a", schedule: "x", reason, slot: NOON };
    expect(lineOf({ event: "schedule:skipped", details })).toMatch(
      new RegExp(`^a/x skipped the run of 2026-\\S+ ${words}$`),
    );
  });

  it.each([
    ["at_capacity", "came due while there was no capacity"],
    ["already_running", "came due while the previous job was still running"],
    ["paused", "came due while the schedule was paused"],
    ["disabled", "came due before the schedule was disabled"],
  ] as const)("that was not run shows how many there were, and the reason: %s", (reason, words) => {
    const details = { agent: "a", schedule: "x", reason, slot: NOON, lastSlot: NOON, count: 1 };
    expect(lineOf({ event: "schedule:skipped", details })).toMatch(
      new RegExp(`^a/x skipped the run of 2026-\\S+ ${words}$`),
    );
    expect(lineOf({ event: "schedule:skipped", details: { ...details, count: 7 } })).toMatch(
      new RegExp(`^a/x skipped 7 runs from 2026-\\S+ to 2026-\\S+ ${words}$`),
    );
  });

  it.each(["disabled", "unsupported_type", "no_work", "not_due"] as const)(
    "does not exist for the reason %s",
    (reason) => {
      expect(
        lineOf({ event: "schedule:skipped", details: { agent: "a", schedule: "x", reason } }),
      ).toBeUndefined();
    },
  );
});

describe("a notice that the scheduler logs", () => {
  it("has no line", () => {
    const missed = { agent: "a", schedule: "x", slot: NOON, lastSlot: NOON, count: 1, lateMs: 1, graceMs: 1 };
    expect(lineOf({ event: "schedule:missed", details: missed })).toBeUndefined();
    expect(lineOf({ event: "scheduler:error", details: { error: new Error("no") } })).toBeUndefined();
  });
});
