import { describe, expect, it } from "vitest";
import { instantOption, type TimeDirection } from "../../src/cli/instant-option.js";

const NOW = new Date("2026-03-01T12:00:00.000Z");

function read(text: string, direction: TimeDirection, timezone = "UTC", now = NOW): string | undefined {
  return instantOption("at", direction, "").read(text)?.(now, timezone).toISOString();
}

describe("an option for a time", () => {
  it.each([
    ["03:47", "past", "2026-03-01T03:47:00.000Z"],
    ["13:00", "past", "2026-02-28T13:00:00.000Z"],
    ["12:00", "past", "2026-03-01T12:00:00.000Z"],
    ["12:00", "future", "2026-03-02T12:00:00.000Z"],
    ["9:05:30", "future", "2026-03-02T09:05:30.000Z"],
    ["2026-11-17 23:47", "future", "2026-11-17T23:47:00.000Z"],
    ["2026-11-17T23:47", "past", "2026-11-17T23:47:00.000Z"],
    ["2026-11-17 23:47:12", "past", "2026-11-17T23:47:12.000Z"],
    ["2026-11-17", "past", "2026-11-17T00:00:00.000Z"],
    ["today", "past", "2026-03-01T00:00:00.000Z"],
    ["tomorrow", "future", "2026-03-02T00:00:00.000Z"],
    ["tomorrow 9:00", "future", "2026-03-02T09:00:00.000Z"],
    ["yesterday 23:47", "past", "2026-02-28T23:47:00.000Z"],
    ["now", "past", "2026-03-01T12:00:00.000Z"],
    ["90m", "future", "2026-03-01T13:30:00.000Z"],
    ["90m", "past", "2026-03-01T10:30:00.000Z"],
    ["1h30m", "future", "2026-03-01T13:30:00.000Z"],
    ["in 2h", "past", "2026-03-01T14:00:00.000Z"],
    ["2h ago", "future", "2026-03-01T10:00:00.000Z"],
    ["2026-11-17T23:47:00+01:00", "future", "2026-11-17T22:47:00.000Z"],
  ] as const)("reads %j in the %s", (text, direction, expected) => {
    expect(read(text, direction)).toBe(expected);
  });

  it("reads a time without an offset in the given zone", () => {
    expect(read("03:47", "past", "Europe/Berlin")).toBe("2026-03-01T02:47:00.000Z");
    expect(read("2026-07-01 12:00", "past", "Europe/Berlin")).toBe("2026-07-01T10:00:00.000Z");
    expect(read("today", "past", "Asia/Tokyo", new Date("2026-03-01T20:00:00Z"))).toBe(
      "2026-03-01T15:00:00.000Z",
    );
  });

  it("reads a time that clocks show twice as the first, and one that they skip as the end of the gap", () => {
    expect(read("2026-10-25 02:30", "past", "Europe/Berlin")).toBe("2026-10-25T00:30:00.000Z");
    expect(read("2026-10-25 03:30", "past", "Europe/Berlin")).toBe("2026-10-25T02:30:00.000Z");
    expect(read("2026-03-29 02:30", "past", "Europe/Berlin")).toBe("2026-03-29T01:00:00.000Z");
    expect(read("2026-03-29 03:30", "past", "Europe/Berlin")).toBe("2026-03-29T01:30:00.000Z");
  });

  it.each(["soon", "25:00", "12:60", "2026-02-30", "2026-02-30 10:00", "10:00 tomorrow", "5x", "1h 5"])(
    "refuses %j",
    (text) => {
      expect(() => read(text, "past")).toThrow(/^Invalid --at .*expected a time such as "09:00"/);
    },
  );
});
