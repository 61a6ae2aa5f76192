/** Random expressions compared with the oracle in years without clock changes, day by day through a table Intl made. */
import { CronParseError, nextCronRun } from "../../src/index.js";
import { check } from "./cron-grid.js";
import { everMatches, readFields, wallClock } from "./cron-oracle.js";

const DAY = 86_400_000;

/** Every kind of February is followed by a 1 March: plain, leap, plain century (2100), leap century (2000). */
const SPANS: readonly (readonly [number, number])[] = [
  [1996, 2012],
  [2095, 2110],
];
const FIRST_OF_MARCH = [1997, 1999, 2000, 2001, 2003, 2004, 2096, 2097, 2099, 2100, 2101];
const ZONES = ["UTC", "Asia/Kathmandu", "America/Phoenix"];

export interface PlainYearsResult {
  expressions: number;
  points: number;
  neverMatching: number;
  readonly disagreements: string[];
}

/** Asks for the next run of each of `count` random expressions from 20 instants. */
export function comparePlainYears(count: number, seed: number): PlainYearsResult {
  const random = randomNumbers(seed);
  const result: PlainYearsResult = { expressions: 0, points: 0, neverMatching: 0, disagreements: [] };
  const calendars = ZONES.map((zone) => new PlainCalendar(zone));
  for (; result.expressions < count; result.expressions++) {
    const calendar = pick(random, calendars);
    const expression = randomExpression(random);
    const oracle = calendar.expression(expression);
    for (let i = 0; i < 20; i++) {
      const at = randomInstant(random, i);
      const expected = oracle(at);
      if (expected === undefined && isRefused(expression)) {
        result.neverMatching++;
        if (everMatches(expression)) result.disagreements.push(`"${expression}" was refused, yet it matches`);
        break;
      }
      result.points++;
      const end = calendar.endOfSpan(at);
      const question = {
        zone: calendar.zone,
        expression,
        at,
        atLeast: expected ?? end,
        atMost: expected ?? Infinity,
      };
      check(nextCronRun, question, result);
    }
  }
  return result;
}

function isRefused(expression: string): boolean {
  try {
    nextCronRun(expression, new Date(0), "UTC");
    return false;
  } catch (error) {
    return error instanceof CronParseError;
  }
}

/** The days of the spans as the zone's calendars show them. */
class PlainCalendar {
  readonly zone: string;
  readonly #spans: Date[][];
  readonly #offset: number;

  constructor(zone: string) {
    this.zone = zone;
    const show = wallClock(zone);
    this.#offset = show(Date.UTC(2000, 0, 1)) - Date.UTC(2000, 0, 1);
    this.#spans = SPANS.map(([from, to]) => {
      const days: Date[] = [];
      for (let at = Date.UTC(from, 0, 1) - this.#offset; at < Date.UTC(to, 0, 1); at += DAY)
        days.push(new Date(show(at)));
      return days;
    });
  }

  endOfSpan(at: number): number {
    return (this.#spanOf(at).at(-1)?.getTime() ?? Number.NaN) - this.#offset + DAY;
  }

  #spanOf(at: number): Date[] {
    return this.#spans.find((days) => at < (days.at(-1)?.getTime() ?? 0)) ?? [];
  }

  /** Answers the first run after an instant, or `undefined` when the span has none. */
  expression(text: string): (at: number) => number | undefined {
    const fields = readFields(text);
    const times: number[] = [];
    for (const hour of fields.hour) {
      for (const minute of fields.minute) {
        for (const second of fields.second) times.push(((hour * 60 + minute) * 60 + second) * 1000);
      }
    }
    times.sort((a, b) => a - b);
    return (at) => {
      const local = at + this.#offset;
      for (const day of this.#spanOf(at)) {
        if (day.getTime() + DAY <= local) continue;
        if (!fields.month.has(day.getUTCMonth() + 1) || !fields.dayMatches(day)) continue;
        const time = times.find((candidate) => day.getTime() + candidate > local);
        if (time !== undefined) return day.getTime() + time - this.#offset;
      }
      return undefined;
    };
  }
}

function randomInstant(random: Random, i: number): number {
  const year = pick(random, FIRST_OF_MARCH);
  const march = Date.UTC(year, 2, 1);
  if (i < 6) return march - DAY + Math.floor(random() * 2 * DAY);
  if (i < 8) return march + pick(random, [-1000, -1, 0, 1, 1000]);
  return Date.UTC(year, 0, 1) + Math.floor(random() * 365 * DAY);
}

const MONTH_WORDS = ["jan", "FEB", "Mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAY_WORDS = ["SUN", "mon", "Tue", "wed", "thu", "fri", "sat"];

export function randomExpressions(count: number, seed: number): string[] {
  const random = randomNumbers(seed);
  return Array.from({ length: count }, () => randomExpression(random));
}

function randomExpression(random: Random): string {
  const fields = [
    randomField(random, 0, 59),
    randomField(random, 0, 23),
    randomDay(random),
    chance(random, 0.2) ? pick(random, MONTH_WORDS) : randomField(random, 1, 12),
    randomWeekday(random),
  ];
  if (chance(random, 0.2)) fields.unshift(randomField(random, 0, 59));
  return fields.join(chance(random, 0.1) ? " \t " : " ");
}

function randomDay(random: Random): string {
  if (chance(random, 0.1)) return pick(random, ["L", "15,L", "?", "29", "30", "31", "28-31"]);
  return chance(random, 0.4) ? "*" : randomField(random, 1, 31);
}

function randomWeekday(random: Random): string {
  if (chance(random, 0.5)) return "*";
  const day = String(whole(random, 0, 7));
  if (chance(random, 0.15))
    return `${chance(random, 0.5) ? day : pick(random, WEEKDAY_WORDS)}#${whole(random, 1, 5)}`;
  if (chance(random, 0.1)) return `${day}L`;
  if (chance(random, 0.1))
    return pick(random, ["mon-sun", "fri-sun", "0,7", "1L,3#2", "mon-fri", "5-7", "?"]);
  return randomField(random, 0, 6);
}

function randomField(random: Random, min: number, max: number): string {
  if (chance(random, 0.25)) return "*";
  const items = Array.from({ length: chance(random, 0.3) ? whole(random, 2, 4) : 1 }, () => {
    const from = whole(random, min, max);
    const to = whole(random, from, max);
    const count = max - from + 1;
    if (chance(random, 0.15)) return `*/${whole(random, 1, max - min + 1)}`;
    if (chance(random, 0.1)) return `${from}/${whole(random, 1, count)}`;
    if (chance(random, 0.15)) return `${from}-${to}/${whole(random, 1, to - from + 1)}`;
    return chance(random, 0.3) ? `${from}-${to}` : String(from);
  });
  return items.join(",");
}

type Random = () => number;

/** A generator of the test's own, so that nothing of src/ stands behind the oracle. */
function randomNumbers(seed: number): Random {
  let state = BigInt(seed);
  return () => {
    state = (state * 6_364_136_223_846_793_005n + 1_442_695_040_888_963_407n) % 2n ** 64n;
    return Number(state >> 11n) / 2 ** 53;
  };
}

function chance(random: Random, probability: number): boolean {
  return random() < probability;
}

function whole(random: Random, min: number, max: number): number {
  return min + Math.floor(random() * (max - min + 1));
}

function pick<Item>(random: Random, items: readonly Item[]): Item {
  return items[Math.floor(random() * items.length)] as Item;
}
