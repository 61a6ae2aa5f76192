import { describe, expect, it } from "vitest";
import { compareYear, MINUTE_EXPRESSIONS, SECOND_EXPRESSIONS } from "../../oracle/cron-grid.js";

/** One telling year of each zone, and a past one: what governments will do yet differs between tz databases. */
const YEARS: readonly (readonly [zone: string, year: number, changes: number])[] = [
  ["Africa/Cairo", 2014, 4], // summer time interrupted for Ramadan
  ["Africa/Casablanca", 2024, 2], // negative summer time around Ramadan
  ["America/Caracas", 2016, 1], // half an hour, for good
  ["America/Havana", 2024, 2], // at midnight
  ["America/New_York", 2024, 2],
  ["America/Nuuk", 2024, 2], // the evening before, local time
  ["America/Santiago", 2024, 2], // at midnight
  ["America/St_Johns", 2011, 2], // one minute after midnight
  ["Antarctica/Troll", 2024, 2], // two hours
  ["Asia/Beirut", 2024, 2], // at midnight
  ["Asia/Gaza", 2024, 2],
  ["Asia/Pyongyang", 2015, 1], // half an hour back
  ["Asia/Pyongyang", 2018, 1], // and forward again
  ["Asia/Tehran", 2022, 2], // at midnight
  ["Australia/Lord_Howe", 2024, 2], // half an hour
  ["Europe/Dublin", 2024, 2],
  ["Europe/Istanbul", 2016, 1], // forward, for good
  ["Europe/London", 2024, 2],
  ["Europe/Moscow", 2014, 1], // back, for good
  ["Pacific/Apia", 2011, 3], // a whole day skipped
  ["Pacific/Chatham", 2024, 2], // at a quarter to
  ["Pacific/Norfolk", 2019, 1], // summer time introduced
];

describe("nextCronRun and previousCronRun around clock changes", () => {
  it.each(YEARS)("agree with the oracle in %s %i", (zone, year, changes) => {
    const result = { points: 0, changes: 0, disagreements: [] };
    compareYear(zone, year, result);
    expect(result.disagreements).toEqual([]);
    expect(result.changes).toBe(changes);
    expect(result.points).toBeGreaterThan(changes * MINUTE_EXPRESSIONS.length * SECOND_EXPRESSIONS.length);
  });
});
