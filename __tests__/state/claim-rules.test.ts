import { describe, expect, it } from "vitest";
import { type ClaimQuestion, claimRefusal } from "../../src/state/claim-rules.js";

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
