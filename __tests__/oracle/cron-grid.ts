/** Compares nextCronRun and previousCronRun with the oracle around clock changes: every point, every disagreement. */
import { nextCronRun, previousCronRun } from "../../src/index.js";
import { clockChanges, runsWithin, timeline, type Timeline } from "./cron-oracle.js";

const SECOND = 1_000;
const MINUTE = 60_000;
const HOUR = 3_600_000;
const DAY = 86_400_000;

export const MINUTE_EXPRESSIONS: readonly string[] = [
  "* * * * *",
  "*/15 * * * *",
  "5 * * * *",
  "0 */2 * * *",
  "30 */3 * * *",
  "*/15 2 * * *",
  "*/7 1,2,3 * * *",
  "0 0 * * *",
  "15 0 * * *",
  "30 0 * * *",
  "59 0 * * *",
  "0 1 * * *",
  "30 1 * * *",
  "59 1 * * *",
  "0 2 * * *",
  "15 2 * * *",
  "30 2 * * *",
  "45 2 * * *",
  "0 3 * * *",
  "30 3 * * *",
  "0,30 2 * * *",
  "30 1-3 * * *",
  "0 0-23 * * *",
  "0,20,40 0-23 * * *",
  "45 23 * * *",
  "30 23 * * *",
  "0 12 * * *",
  "0 0 * * 0",
  "30 2 * * 0",
  "0 9 * * 1-5",
  "0 2 * * 0#2",
  "0 3 * * 0L",
  "0 0 1 * *",
  "30 2 L * *",
  "0 12 30 12 *",
  "10 2 */2 * 1",
  "10 2 8-14 3,11 sun",
];

export const SECOND_EXPRESSIONS: readonly string[] = [
  "30 30 2 * * *",
  "*/20 * * * * *",
  "15 59 1 * * *",
  "59 59 23 * * *",
  "* 0 2 * * *",
  "7,37 15-45 0-3 * * *",
];

export interface GridResult {
  points: number;
  changes: number;
  readonly disagreements: string[];
}

/** Asks from before, inside and after each clock change of a zone's year. */
export function compareYear(zone: string, year: number, result: GridResult): void {
  for (const change of clockChanges(zone, year)) {
    result.changes++;
    const minutes = timeline(zone, change - 3 * DAY, change + 3 * DAY, MINUTE);
    const asked = new Set<number>();
    for (const distance of [
      0, 1, 29, 30, 31, 59, 60, 61, 90, 119, 120, 121, 180, 300, 720, 1380, 1439, 1440, 1441, 1500, 2160,
    ]) {
      asked.add(change - distance * MINUTE).add(change + distance * MINUTE);
    }
    for (const fraction of [1, SECOND - 1, SECOND, 30 * SECOND])
      asked.add(change - fraction).add(change + fraction);
    for (const expression of MINUTE_EXPRESSIONS) compare(zone, expression, minutes, asked, result);

    const seconds = timeline(zone, change - 2 * HOUR, change + 1.5 * HOUR, SECOND);
    const askedClosely = [...asked].filter((at) => Math.abs(at - change) <= HOUR / 2);
    for (const expression of SECOND_EXPRESSIONS) compare(zone, expression, seconds, askedClosely, result);
  }
}

function compare(
  zone: string,
  expression: string,
  window: Timeline,
  asked: Iterable<number>,
  result: GridResult,
): void {
  const runs = runsWithin(window, expression);
  // The window's first days only show what came before, so an answer there is not the oracle's to give.
  const known = window.start + (window.end - window.start) / 4;
  for (const at of asked) {
    result.points++;
    const next = runs.find((run) => run > at);
    const previous = runs.findLast((run) => run < at && run > known);
    check(
      nextCronRun,
      { zone, expression, at, atLeast: next ?? window.end, atMost: next ?? Infinity },
      result,
    );
    check(
      previousCronRun,
      { zone, expression, at, atLeast: previous ?? -Infinity, atMost: previous ?? at - 1 },
      result,
    );
  }
  let at = known;
  for (const run of runs.filter((candidate) => candidate > known)) {
    result.points++;
    check(nextCronRun, { zone, expression, at, atLeast: run, atMost: run }, result);
    at = run;
  }
}

interface Question {
  readonly zone: string;
  readonly expression: string;
  readonly at: number;
  readonly atLeast: number;
  readonly atMost: number;
}

export function check(
  find: typeof nextCronRun,
  question: Question,
  result: { disagreements: string[] },
): void {
  const { zone, expression, at, atLeast, atMost } = question;
  const asked = `${find.name}("${expression}", ${new Date(at).toISOString()}, "${zone}")`;
  try {
    const found = find(expression, new Date(at), zone).getTime();
    if (found >= atLeast && found <= atMost) return;
    const expected = Number.isFinite(atLeast) ? new Date(atLeast).toISOString() : "an earlier time";
    result.disagreements.push(`${asked} is ${new Date(found).toISOString()}, the oracle says ${expected}`);
  } catch (error) {
    result.disagreements.push(`${asked} threw ${String(error)}`);
  }
}
