import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isoText, isoTimeMs, normalTime, plainTimeDigits } from "../src/iso-time.js";

const DAY_MS = 86_400_000;

describe("an ISO time", () => {
  it("accepts what toISOString writes on every day of leap years and common years", () => {
    for (let ms = Date.UTC(1999, 11, 1); ms < Date.UTC(2005, 0, 1); ms += DAY_MS - 1_234_567) {
      const text = new Date(ms).toISOString();
      expect([text, isoTimeMs(text)]).toEqual([text, ms]);
    }
  });

  it("is read as the same moment each time, and other texts are refused", () => {
    const texts = ["2026-03-01T00:00:00.000Z", "", "2026-03-02T00:00:00.000Z", "1970-01-01T00:00:00.000Z"];
    const expected = texts.map((text) => (text === "" ? undefined : Date.parse(text)));
    for (let round = 0; round < 3; round++) {
      expect(texts.map((text) => isoTimeMs(text))).toEqual(expected);
      expect(texts.map((text) => isoTimeMs(text)).toReversed()).toEqual(expected.toReversed());
    }
  });

  it("is accepted only for a day and time that exist", () => {
    const two = fc.nat({ max: 99 }).map((number) => String(number).padStart(2, "0"));
    const time = fc
      .tuple(fc.constantFrom("1900", "2000", "2023", "2024"), two, two, two, two, two)
      .map(
        ([year, month, day, hour, minute, second]) =>
          `${year}-${month}-${day}T${hour}:${minute}:${second}.123Z`,
      );
    fc.assert(
      fc.property(time, (text) => {
        const exists = !Number.isNaN(Date.parse(text)) && new Date(text).toISOString() === text;
        expect([text, isoTimeMs(text)]).toEqual([text, exists ? Date.parse(text) : undefined]);
      }),
      {
        numRuns: 20_000,
        examples: ["2023-02-29", "2024-02-29", "2023-04-31", "2023-12-31"].map((day) => [
          `${day}T23:59:59.123Z`,
        ]),
      },
    );
  });

  it.each([
    "2026-02-30T00:00:00.000Z",
    "2026-03-01",
    "2026-03-01T09:00:00",
    "tomorrow",
    "",
    5,
    null,
    undefined,
  ])("is not %j", (value) => {
    expect(isoTimeMs(value)).toBeUndefined();
  });

  it.each(["2026-03-01T09:00Z", "2026-03-01T09:00:00+02:00", "2026-03-01T09:00:00.5-05:30"])(
    "may be %s",
    (text) => {
      expect(isoTimeMs(text)).toBe(Date.parse(text));
    },
  );
});

describe("isoText", () => {
  it("writes as toISOString does, whatever it wrote before", () => {
    const near = fc.integer({ min: -2, max: 2 });
    const any = fc.date({ noInvalidDate: true }).map((at) => at.getTime());
    fc.assert(
      fc.property(fc.array(fc.oneof(near, any), { maxLength: 20 }), (times) => {
        const dates = times.map((ms) => new Date(ms));
        expect(dates.map(isoText)).toEqual(dates.map((at) => at.toISOString()));
      }),
    );
  });

  it("throws for an invalid Date", () => {
    expect(() => isoText(new Date(Number.NaN))).toThrow(RangeError);
  });

  it.each([
    ["2026-03-01T09:00:00.000Z", "2026-03-01T09:00:00.000Z"],
    ["2026-03-01T09:00:00+02:00", "2026-03-01T07:00:00.000Z"],
    ["2024-02-29T09:00Z", "2024-02-29T09:00:00.000Z"],
    ["2026-02-30T09:00:00.000Z", undefined],
    [5, undefined],
  ])("is what normalTime makes of %j: %s", (text, normal) => {
    expect(normalTime(text)).toBe(normal);
  });
});

describe("plainTimeDigits", () => {
  it("returns the milliseconds of times that are whole days apart, read in turn", () => {
    const times = [0, 1, 7, 31, 365].map((days) => Date.UTC(2026, 2, 1, 9) + days * 86_400_000);
    for (let round = 0; round < 3; round++)
      expect(times.map((ms) => plainTimeDigits(isoText(new Date(ms))))).toEqual(times.map(String));
  });

  it("returns undefined for a different notation and for other text", () => {
    expect(["2026-03-01T09:00Z", "2026-02-30T09:00:00.000Z", "", undefined].map(plainTimeDigits)).toEqual(
      Array.from({ length: 4 }),
    );
  });
});
