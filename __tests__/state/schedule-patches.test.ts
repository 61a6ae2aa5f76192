/** What an update changes, what it leaves alone, and what it refuses. */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { ScheduleStatePatch } from "../../src/state/schedule-state.js";
import { getScheduleState, updateScheduleState } from "../../src/state/file/state-functions.js";
import { listening } from "./listening.js";
import { temporaryDirectory } from "./temporary-directory.js";

const { logger } = listening();
const update = (stateDir: string, patch: ScheduleStatePatch): Promise<unknown> =>
  updateScheduleState(stateDir, "a", "daily", patch, { logger });
const fileIn = (directory: string): string => readFileSync(join(directory, "state.yaml"), "utf8");

const FILE = `agents:
  a:
    schedules:
      daily:
        status: disabled
        last_error: it broke
        failure_count: 3
        newer: { a: [1, 2.50], b: 123456789012345678901234567890 }
`;

describe("an update", () => {
  it("changes only the keys that it names, and keeps unknown keys", async () => {
    using directory = temporaryDirectory();
    writeFileSync(join(directory.path, "state.yaml"), FILE);
    await update(directory.path, { failure_count: 4 });
    expect(fileIn(directory.path)).toMatch(
      /agents:\n {2}a:\n {4}schedules:\n {6}daily:\n {8}status: disabled\n {8}last_error: "it broke"\n {8}failure_count: 4\n {8}newer:\n {10}a: \[1, 2\.5\]\n {10}b: 123456789012345678901234567890\n# end of state\n$/,
    );
  });

  it("clears what it sets to null", async () => {
    using directory = temporaryDirectory();
    writeFileSync(join(directory.path, "state.yaml"), FILE);
    await update(directory.path, { last_error: null, failure_count: null });
    expect(fileIn(directory.path)).not.toMatch(/last_error|failure_count/);
    expect(await getScheduleState(directory.path, "a", "daily")).toMatchObject({ last_error: null });
  });

  it("leaves alone what it sets to undefined", async () => {
    using directory = temporaryDirectory();
    writeFileSync(join(directory.path, "state.yaml"), FILE);
    await update(directory.path, { status: undefined as never, last_error: undefined });
    expect(fileIn(directory.path)).toBe(FILE);
  });

  it("writes nothing that is there already", async () => {
    using directory = temporaryDirectory();
    writeFileSync(join(directory.path, "state.yaml"), FILE);
    await update(directory.path, { status: "disabled", failure_count: 3, paused_until: null });
    expect(fileIn(directory.path)).toBe(FILE);
  });

  it("sees a status of null as none", async () => {
    using directory = temporaryDirectory();
    writeFileSync(
      join(directory.path, "state.yaml"),
      "agents:\n  a:\n    schedules:\n      daily:\n        status:\n",
    );
    expect(await getScheduleState(directory.path, "a", "daily", { logger })).toMatchObject({
      status: "idle",
    });
  });

  it.each<[string, unknown, RegExp]>([
    ["a key it does not know", { last_eror: "x" }, /"last_eror" is not a key of a schedule's state/],
    ["a key that every object has", { constructor: 1 }, /"constructor" is not a key/],
    [
      "an own key called __proto__",
      JSON.parse('{"__proto__": {"status": "idle"}}'),
      /"__proto__" is not a key/,
    ],
    [
      "a status there is not",
      { status: "paused" },
      /status is "paused", expected one of idle, running, disabled/,
    ],
    ["no status", { status: null }, /status cannot be cleared/],
    [
      "a Date for a time",
      { next_run_at: new Date(0) },
      /next_run_at is 1970-01-01T00:00:00.000Z, expected an ISO time/,
    ],
    ["a local time", { next_run_at: "2026-03-01T09:00:00" }, /expected an ISO time/],
    ["30 February", { next_run_at: "2026-02-30T09:00:00Z" }, /expected an ISO time/],
    ["half a number", { failure_count: 0.5 }, /failure_count is 0.5, expected a whole number from 0/],
    ["a number below zero", { missed_count: -1 }, /expected a whole number from 0/],
    ["no number at all", { failure_count: Number.NaN }, /failure_count is NaN/],
    ["a number for a text", { last_error: 7 }, /last_error is 7, expected text/],
    ["an error for a text", { last_error: new Error("no") }, /last_error is an object, expected text/],
    ["a hint without an end", { hint: { interval: "5m" } }, /expected a map with expires_at/],
    ["a hint that is a list", { hint: [] }, /hint is an array/],
    [
      "a function in a hint",
      { hint: { expires_at: "2026-03-01T09:00:00Z", run: () => 1 } },
      /a function is neither/,
    ],
    [
      "a Date in a hint",
      { hint: { expires_at: "2026-03-01T09:00:00Z", at: new Date(0) } },
      /1970-.* is neither/,
    ],
    ["nothing", null, /null is not a map/],
    ["a list", [1], /an array is not a map/],
    ["a text", "idle", /"idle" is not a map/],
  ])("that has %s is refused, and nothing is written", async (_, patch, message) => {
    using directory = temporaryDirectory();
    writeFileSync(join(directory.path, "state.yaml"), FILE);
    await expect(update(directory.path, patch as ScheduleStatePatch)).rejects.toMatchObject({
      name: "StateError",
      code: "INVALID_STATE",
      message: expect.stringMatching(message) as unknown,
    });
    expect(readdirSync(directory.path)).toEqual(["state.yaml"]);
    expect(fileIn(directory.path)).toBe(FILE);
  });
});
