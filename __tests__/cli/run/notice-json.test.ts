import { describe, expect, it } from "vitest";
import { newsJson } from "../../../src/cli/run/notice-json.js";
import { ConfigError } from "../../../src/scheduler/definition/errors.js";
import { StateLockedError } from "../../../src/state/errors.js";
import { NOON } from "./fleet-view.js";

const KEY = { agent: "a", schedule: "x" };
const time = NOON.toISOString();

describe("an event as JSON", () => {
  it("has a missed slot with how late it was found", () => {
    const details = { ...KEY, slot: NOON, lateMs: 90_000, graceMs: 1_000 };
    expect(newsJson({ event: "schedule:missed", details }, NOON)).toEqual({
      time,
      event: "schedule:missed",
      ...KEY,
      slot: time,
      late_ms: 90_000,
      grace_ms: 1_000,
    });
  });

  it("has null for a plan that there is none of", () => {
    const details = { ...KEY, nextRunAt: undefined, source: undefined };
    expect(newsJson({ event: "schedule:planned", details }, NOON)).toMatchObject({
      next_run_at: null,
      source: null,
    });
  });

  it("has null for a slot that there is none of", () => {
    const details = { ...KEY, reason: "disabled" as const };
    expect(newsJson({ event: "schedule:skipped", details }, NOON)).toMatchObject({
      reason: "disabled",
      slot: null,
    });
  });

  it("has an error's sentence and code, and null for what it is not about", () => {
    const error = new StateLockedError("It is taken", "/x", undefined);
    expect(newsJson({ event: "scheduler:error", details: { error } }, NOON)).toEqual({
      time,
      event: "scheduler:error",
      agent: null,
      schedule: null,
      error: "It is taken",
      code: "STATE_LOCKED",
    });
  });

  it("has null for the code of an error that has none", () => {
    expect(
      newsJson({ event: "scheduler:error", details: { ...KEY, error: new Error("no") } }, NOON),
    ).toMatchObject({
      ...KEY,
      code: null,
    });
  });

  it("has what is different in a configuration, by names", () => {
    const none = { added: [], removed: [], changed: [] };
    const details = {
      agents: { ...none, changed: ["a"] },
      schedules: { ...none, added: [KEY] },
      options: ["timezone" as const],
    };
    expect(newsJson({ event: "config:reloaded", details }, NOON)).toEqual({
      time,
      event: "config:reloaded",
      agents: { added: [], removed: [], changed: ["a"] },
      schedules: { added: ["a/x"], removed: [], changed: [] },
      options: ["timezone"],
    });
  });

  it("has the problems of a configuration that was refused", () => {
    const error = new ConfigError([]);
    expect(newsJson({ event: "config:refused", details: { error } }, NOON)).toEqual({
      time,
      event: "config:refused",
      problems: [],
    });
  });
});
