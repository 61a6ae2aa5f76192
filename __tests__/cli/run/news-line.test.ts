import { describe, expect, it } from "vitest";
import { newsLine } from "../../../src/cli/run/news-line.js";
import type { News } from "../../../src/cli/run/news.js";
import type { JobRecord } from "../../../src/index.js";
import { every } from "../../scheduler/scene.js";
import { JOB, NOON } from "./fleet-view.js";

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

const lineOf = (news: News, isIdleRun = false): string | undefined => {
  const line = newsLine(news, { definitionOf: () => every("5m"), isIdleRun });
  return line && `${line.subject} ${line.what} ${line.more}`;
};
const started = (job: Partial<JobRecord>): string | undefined =>
  lineOf({ event: "job:started", details: { job: { ...RECORD, ...job } } });
const finished = (job: Partial<JobRecord>, isIdleRun = false): string | undefined =>
  lineOf({ event: "job:finished", details: { job: { ...RECORD, ...job } } }, isIdleRun);

describe("the line of a job that has started", () => {
  it.each([
    [{ source: "baseline-interval" }, "every 5m"],
    [{ source: "baseline-interval", attempt: 3 }, "every 5m, slower after 2 failures"],
    [{ source: "first-run" }, "first run"],
    [{ source: "catch-up" }, "makes up for a run that was missed"],
    [{ source: "manual" }, "asked for by hand"],
    [{ source: "ai-interval" }, "a hint asked for another interval"],
    [{ source: "ai-oneshot" }, "a hint asked for an extra run"],
  ] as const)("says why: %j", (job, why) => {
    expect(started(job)).toBe(`a/x started ${JOB}: ${why}`);
  });
});

describe("the line of a job that has ended", () => {
  it.each([
    [{ status: "completed", duration_ms: 1_500, summary: "3 sent" }, `completed ${JOB} after 1s: 3 sent`],
    [{ status: "completed", duration_ms: 20 }, `completed ${JOB} after 20ms`],
    [{ status: "failed", duration_ms: 20, error: "no" }, `failed ${JOB} after 20ms: no`],
    [{ status: "failed", summary: "its last line" }, `failed ${JOB}: its last line`],
    [{ status: "timeout", duration_ms: 60_000, error: "too slow" }, `timeout ${JOB} after 1m: too slow`],
  ] as const)("says how, and what came of it: %j", (job, shown) => {
    expect(finished(job)).toBe(`a/x ${shown}`);
  });

  it("says that there was no work", () => {
    expect(finished({ status: "completed", duration_ms: 20 }, true)).toBe(
      `a/x completed ${JOB} after 20ms: there was no work`,
    );
  });

  it("is one line that a terminal does not obey", () => {
    expect(finished({ status: "failed", error: "one\ntwo \u001b[2J" })).toBe(
      `a/x failed ${JOB}: one two \ufffd[2J`,
    );
  });
});

describe("the line of a slot that does not run", () => {
  it.each([
    ["at_capacity", "waits for capacity"],
    ["already_running", "passed while the one before was still running"],
    ["paused", "is dropped by a pause"],
  ] as const)("says what keeps it: %s", (reason, words) => {
    const details = { agent: "a", schedule: "x", reason, slot: NOON };
    expect(lineOf({ event: "schedule:skipped", details })).toMatch(
      new RegExp(`^a/x skipped the run of 2026-\\S+ ${words}$`),
    );
  });

  it.each(["disabled", "unsupported_type", "no_work", "not_due"] as const)(
    "is none where that is no news: %s",
    (reason) => {
      expect(
        lineOf({ event: "schedule:skipped", details: { agent: "a", schedule: "x", reason } }),
      ).toBeUndefined();
    },
  );
});

describe("what the log tells", () => {
  it("has no line of its own", () => {
    const missed = { agent: "a", schedule: "x", slot: NOON, lateMs: 1, graceMs: 1 };
    expect(lineOf({ event: "schedule:missed", details: missed })).toBeUndefined();
    expect(lineOf({ event: "scheduler:error", details: { error: new Error("no") } })).toBeUndefined();
  });
});
