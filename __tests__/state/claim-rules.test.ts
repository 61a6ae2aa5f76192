import { describe, expect, it } from "vitest";
import { type ClaimQuestion, claimRefusal, givenBack, interruption } from "../../src/state/claim-rules.js";

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
    expect(again).toMatchObject({ ...started, interrupted_count: 2, failure_count: 1 });
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
