import { describe, expect, it } from "vitest";
import { endedRecord, FINISHED_AT, STARTED_AT } from "../contract/records.js";
import {
  type ClaimQuestion,
  claimRefusal,
  givenBack,
  interruption,
  isSameEnd,
  lastJobOf,
  recordOfLastJob,
} from "../../src/state/claim-rules.js";
import { isUndecided, recordedEnd } from "../../src/state/recorded-end.js";

const NOW = "2026-03-01T09:00:00.000Z";
const LATER = "2026-03-01T09:00:00.001Z";
const nothingAgainst: ClaimQuestion = {
  state: { status: "idle", next_run_at: NOW, paused_until: NOW },
  isRunning: false,
  isAtCapacity: false,
  nowMs: Date.parse(NOW),
};

describe("a claim", () => {
  it("is refused for nothing when its time has come and a pause is over", () => {
    expect(claimRefusal(nothingAgainst)).toBeUndefined();
  });

  it("is refused for the first reason of all that speak against it", () => {
    const all: ClaimQuestion = {
      ...nothingAgainst,
      state: { status: "disabled", next_run_at: LATER, paused_until: LATER },
      isRunning: true,
      isAtCapacity: true,
    };
    const enabled = { ...all, state: { ...all.state, status: "running" as const } };
    const ended = { ...enabled, isRunning: false };
    const free = { ...ended, isAtCapacity: false };
    const due = { ...free, state: { ...free.state, next_run_at: NOW } };
    expect([all, enabled, ended, free, due].map(claimRefusal)).toEqual([
      "disabled",
      "already_running",
      "at_capacity",
      "not_due",
      "paused",
    ]);
  });

  it("of a schedule without a plan is not due", () => {
    expect(claimRefusal({ ...nothingAgainst, state: {} })).toBe("not_due");
  });
});

describe("the end of a claim", () => {
  const claim = { token: "t", job_id: "job-2026-03-01-aaaaaa", slot: NOW, claimed_at: LATER };
  const running = { status: "running", last_run_at: NOW, last_started_at: NOW, claim } as const;

  it("is no run when it is given back", () => {
    expect(givenBack(running)).toEqual({ status: "idle", claim: null });
    expect(givenBack({ ...running, status: "disabled" })).toEqual({ status: "disabled", claim: null });
  });

  it("is a run from when it was claimed when it was interrupted", () => {
    const started = { last_run_at: LATER, last_started_at: LATER };
    expect(interruption(running, new Date(NOW))).toMatchObject({ ...started, interrupted_count: 1 });
    const again = interruption({ ...running, interrupted_count: 1 }, new Date(NOW));
    expect(again).toMatchObject({ ...started, interrupted_count: 2 });
  });

  it("is a run from its slot on when the claim does not say when it was made", () => {
    const { claimed_at: _, ...undated } = claim;
    const patch = interruption({ ...running, claim: undated }, new Date(LATER));
    expect(patch).toMatchObject({ last_run_at: NOW, last_started_at: NOW, interrupted_count: 1 });
  });

  it("does not say when it began if no claim does", () => {
    const patch = interruption({ status: "running" }, new Date(NOW));
    expect(Object.keys(patch)).not.toEqual(expect.arrayContaining(["last_run_at"]));
    expect(Object.keys(patch)).not.toEqual(expect.arrayContaining(["last_started_at"]));
  });
});

describe("the end of a claim by the record of its job", () => {
  const id = "job-2026-11-15-aaaaaa";
  const claim = { token: "t", job_id: id, slot: STARTED_AT };
  const state = { status: "running", claim, failure_count: 2, interrupted_count: 1 } as const;
  const now = new Date("2026-11-15T10:00:00.000Z");
  const times = { last_run_at: STARTED_AT, last_started_at: STARTED_AT, last_completed_at: FINISHED_AT };
  const ended = { claim: null, interrupted_count: null, next_run_at: null, next_run_source: null };

  it("is that of a job that succeeded", () => {
    const record = endedRecord(id);
    expect(recordedEnd(state, record, now)).toEqual({
      ...ended,
      ...times,
      status: "idle",
      last_error: null,
      failure_count: 0,
      last_job: lastJobOf(record),
      accounted_until: STARTED_AT,
    });
  });

  it("of a job that was triggered leaves the plan that its schedule had", () => {
    const plan = { next_run_at: STARTED_AT, next_run_source: "baseline-cron" } as const;
    const triggered = { ...state, ...plan, claim: { ...claim, source: "manual" } } as const;
    expect(recordedEnd(triggered, endedRecord(id), now)).toMatchObject(plan);
  });

  it("is that of a job that failed, and counts the failure", () => {
    const record = endedRecord(id, { status: "failed", error: "no" });
    const patch = recordedEnd(state, record, now);
    expect(patch).toMatchObject({ ...ended, interrupted_count: 1, last_error: "no", failure_count: 3 });
    // The scheduler decides whether its slot is tried again.
    expect(patch).toMatchObject({ retry: { slot: STARTED_AT, attempt: 1 }, last_job: { attempt: 1 } });
    expect(isUndecided({ ...state, ...patch })).toBe(true);
  });

  it("counts no failure of a job that was cancelled", () => {
    const record = endedRecord(id, { status: "cancelled", error: "stopped" });
    expect(recordedEnd(state, record, now)).toMatchObject({ last_error: "stopped", failure_count: 2 });
  });

  it("leaves a schedule disabled", () => {
    const disabled = { ...state, status: "disabled" } as const;
    expect(recordedEnd(disabled, endedRecord(id), now)).toMatchObject({ status: "disabled" });
  });

  it("is an interruption where the record says so", () => {
    const record = endedRecord(id, { status: "interrupted", error: "its lease ended" });
    const first = { ...state, interrupted_count: 0 };
    expect(recordedEnd(first, record, now)).toEqual({
      ...interruption(first, now),
      last_error: "its lease ended",
      last_job: lastJobOf(record),
    });
  });
});

describe("the record of a last job", () => {
  const id = "job-2026-11-15-aaaaaa";
  const key = { agent: "writer", schedule: "hourly" };
  const now = new Date("2026-11-15T10:00:00.000Z");

  it("says what the state says", () => {
    const record = endedRecord(id, { status: "failed", error: "no", attempt: 3, source: null });
    const state = { last_started_at: STARTED_AT, last_completed_at: FINISHED_AT, last_error: "no" };
    expect(recordOfLastJob(key, state, lastJobOf(record), now)).toEqual(record);
  });

  it("is whole where the state says little", () => {
    expect(recordOfLastJob(key, { last_error: "old" }, { id, status: "completed" }, now)).toEqual(
      endedRecord(id, {
        slot: null,
        source: null,
        started_at: now.toISOString(),
        finished_at: now.toISOString(),
        duration_ms: 0,
      }),
    );
  });

  it("has no duration where the clock was set back", () => {
    const state = { last_started_at: FINISHED_AT, last_completed_at: STARTED_AT };
    expect(recordOfLastJob(key, state, { id, status: "completed" }, now).duration_ms).toBeNull();
  });
});

describe("two records of one job", () => {
  const record = endedRecord("job-2026-11-15-aaaaaa");

  it("tell the same end with the same status and time", () => {
    expect(isSameEnd({ ...record, finished_at: "2026-11-15T10:00:01.500+01:00" }, record)).toBe(true);
    expect(isSameEnd({ ...record, status: "interrupted" }, record)).toBe(false);
    expect(isSameEnd({ ...record, finished_at: STARTED_AT }, record)).toBe(false);
  });
});
