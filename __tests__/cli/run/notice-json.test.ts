import { describe, expect, it } from "vitest";
import { noticeJson } from "../../../src/cli/run/notice-json.js";
import { ConfigError } from "../../../src/scheduler/definition/errors.js";
import { StateLockedError } from "../../../src/state/errors.js";
import { NOON } from "./run-view.js";

const KEY = { agent: "a", schedule: "x" };
const time = NOON.toISOString();

describe("a notice as JSON", () => {
  it("has missed slots with their count and lateness", () => {
    const details = { ...KEY, slot: NOON, lastSlot: NOON, count: 7, lateMs: 90_000, graceMs: 1_000 };
    expect(noticeJson({ event: "schedule:missed", details }, NOON)).toEqual({
      time,
      event: "schedule:missed",
      ...KEY,
      slot: time,
      last_slot: time,
      count: 7,
      late_ms: 90_000,
      grace_ms: 1_000,
    });
  });

  it("has null for a missing plan", () => {
    const details = { ...KEY, nextRunAt: undefined, source: undefined };
    expect(noticeJson({ event: "schedule:planned", details }, NOON)).toMatchObject({
      next_run_at: null,
      source: null,
    });
  });

  it("has null for a missing slot", () => {
    const details = { ...KEY, reason: "disabled" as const };
    expect(noticeJson({ event: "schedule:skipped", details }, NOON)).toMatchObject({
      reason: "disabled",
      slot: null,
      last_slot: null,
      count: null,
    });
  });

  it("has an error's message and code, and null for a missing agent and schedule", () => {
    const error = new StateLockedError("It is taken", "/x", undefined);
    expect(noticeJson({ event: "scheduler:error", details: { error } }, NOON)).toEqual({
      time,
      event: "scheduler:error",
      agent: null,
      schedule: null,
      error: "It is taken",
      code: "STATE_LOCKED",
    });
  });

  it("has null for the code of an error without one", () => {
    expect(
      noticeJson({ event: "scheduler:error", details: { ...KEY, error: new Error("no") } }, NOON),
    ).toMatchObject({
      ...KEY,
      code: null,
    });
  });

  it("has the changes of a configuration by name", () => {
    const none = { added: [], removed: [], changed: [] };
    const details = {
      agents: { ...none, changed: ["a"] },
      schedules: { ...none, added: [KEY] },
      options: ["timezone" as const],
    };
    expect(noticeJson({ event: "config:reloaded", details }, NOON)).toEqual({
      time,
      event: "config:reloaded",
      agents: { added: [], removed: [], changed: ["a"] },
      schedules: { added: ["a/x"], removed: [], changed: [] },
      options: ["timezone"],
    });
  });

  it("has the problems of a refused configuration", () => {
    const error = new ConfigError([]);
    expect(noticeJson({ event: "config:refused", details: { error } }, NOON)).toEqual({
      time,
      event: "config:refused",
      problems: [],
    });
  });
});
