import { describe, expect, it } from "vitest";
import { applyPatch } from "../src/fields.js";
import type { ScheduleFields } from "../src/state/validate-state.js";

const read = (json: string): ScheduleFields => JSON.parse(json) as ScheduleFields;

describe("a state that is patched", () => {
  it.each(["__proto__", "constructor", "toString"])("keeps a key of a newer version called %s", (key) => {
    const patched = applyPatch(read(`{"${key}": {"a": 1}, "failure_count": 1}`), { failure_count: 2 });
    expect(JSON.stringify(patched)).toBe(`{"${key}":{"a":1},"failure_count":2}`);
    expect(Object.getPrototypeOf(patched)).toBe(Object.prototype);
  });

  it("has its keys in the order that they had, and new ones behind them", () => {
    const patched = applyPatch(
      read('{"status": "idle", "hint": null, "last_error": "x", "failure_count": 1}'),
      {
        next_run_at: "2026-03-01T00:00:00Z",
        last_error: null,
        failure_count: 2,
      },
    );
    expect(JSON.stringify(patched)).toBe(
      '{"status":"idle","hint":null,"failure_count":2,"next_run_at":"2026-03-01T00:00:00Z"}',
    );
  });

  it("is the very same where nothing changes", () => {
    const state = read('{"status": "idle", "failure_count": 1}');
    expect(applyPatch(state, { failure_count: 1, last_error: null, hint: undefined })).toBe(state);
  });
});
