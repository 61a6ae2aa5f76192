import { describe, expect, it } from "vitest";
import { compareYear, type GridResult } from "../../oracle/cron-grid.js";
import { comparePlainYears } from "../../oracle/plain-years.js";

const ZONES = [
  "Africa/Cairo",
  "Africa/Casablanca",
  "Africa/Juba",
  "Africa/Windhoek",
  "America/Asuncion",
  "America/Caracas",
  "America/Havana",
  "America/Mexico_City",
  "America/New_York",
  "America/Nuuk",
  "America/Santiago",
  "America/Sao_Paulo",
  "America/St_Johns",
  "Antarctica/Casey",
  "Antarctica/Troll",
  "Asia/Amman",
  "Asia/Beirut",
  "Asia/Gaza",
  "Asia/Kathmandu",
  "Asia/Pyongyang",
  "Asia/Tehran",
  "Asia/Ulaanbaatar",
  "Australia/Adelaide",
  "Australia/Lord_Howe",
  "Europe/Dublin",
  "Europe/Istanbul",
  "Europe/London",
  "Europe/Moscow",
  "Europe/Volgograd",
  "Pacific/Apia",
  "Pacific/Bougainville",
  "Pacific/Chatham",
  "Pacific/Fiji",
  "Pacific/Norfolk",
  "Pacific/Tongatapu",
];
const YEARS = Array.from({ length: 18 }, (_, i) => 2010 + i);

/** Years outside the range in which something rare happened. */
const RARE: readonly (readonly [string, number])[] = [
  ["Asia/Kathmandu", 1986], // a quarter of an hour, for good
  ["America/Noronha", 2000], // a summer time of one week
  ["Pacific/Kiritimati", 1994], // a whole day skipped
  ["Pacific/Kwajalein", 1993], // and another
  ["America/Caracas", 2007], // half an hour back
  ["Europe/Lisbon", 1992],
  ["Asia/Gaza", 2040], // a winter of one week
  ["Australia/Lord_Howe", 1985],
  ["America/New_York", 1974], // summer time from January
];

describe("the cron grid", () => {
  it.each(ZONES)("agrees at every clock change of %s from 2010 to 2027", (zone) => {
    expectAgreement(YEARS.map((year) => [zone, year]));
  });

  it("agrees where something rare happened", () => expectAgreement(RARE));

  it("agrees on 10,000 random expressions from 20 instants each in plain years", () => {
    const result = comparePlainYears(10_000, 20_260_301);
    expect(result.disagreements).toEqual([]);
    console.log(`${result.points} points, ${result.neverMatching} expressions that never match`);
  });
});

function expectAgreement(years: readonly (readonly [string, number])[]): void {
  const result: GridResult = { points: 0, changes: 0, disagreements: [] };
  for (const [zone, year] of years) compareYear(zone, year, result);
  expect(result.disagreements).toEqual([]);
  console.log(`${years[0]?.[0]}: ${result.changes} clock changes, ${result.points} points`);
}
