/**
 * The cron grammar: text in, one bit mask per field out, or an error that names the field.
 * What the masks match is decided in cron-calendar.ts.
 */
import { quote } from "../../errors.js";
import { CronParseError } from "../errors.js";

export type CronFieldName = "second" | "minute" | "hour" | "day-of-month" | "month" | "day-of-week";

/** Allowed values from 0 to 59: bit n of `low` stands for n, bit n of `high` for 32 + n. */
export interface TimeMask {
  readonly low: number;
  readonly high: number;
}

/** An expression that was found right. */
export interface CronExpression {
  readonly text: string;
}

/** An expression as it is searched for. In the plain masks, bit n stands for the value n. */
export interface CompiledCron extends CronExpression {
  readonly seconds: TimeMask;
  readonly minutes: TimeMask;
  readonly hours: TimeMask;
  /** Bits 1 to 31. */
  readonly days: number;
  /** `L`: the last day of the month. */
  readonly lastDay: boolean;
  /** Bits 1 to 12. */
  readonly months: number;
  /** Bits 0 (Sunday) to 6. */
  readonly weekdays: number;
  /** `1#2` and `5L`. */
  readonly nthWeekdays: readonly NthWeekday[];
  /** Day of month and day of week are both restricted, so a day needs to satisfy only one of them. */
  readonly eitherDay: boolean;
  /** No day is excluded. */
  readonly everyDay: boolean;
  /** Neither minute nor hour has a `*`: at a clock change the local time counts, not the time elapsed. */
  readonly fixedTime: boolean;
}

export interface NthWeekday {
  readonly weekday: number;
  readonly nth: number | "last";
}

interface FieldRule {
  readonly name: CronFieldName;
  readonly min: number;
  readonly max: number;
  readonly names?: readonly string[];
  readonly example: string;
}

const MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

const SECOND: FieldRule = { name: "second", min: 0, max: 59, example: "*/30 * * * * *" };
const MINUTE: FieldRule = { name: "minute", min: 0, max: 59, example: "*/15 * * * *" };
const HOUR: FieldRule = { name: "hour", min: 0, max: 23, example: "0 9-17 * * *" };
const DAY: FieldRule = { name: "day-of-month", min: 1, max: 31, example: "0 9 1,15 * *" };
const MONTH: FieldRule = { name: "month", min: 1, max: 12, names: MONTHS, example: "0 9 1 jan,jul *" };
/** Sunday may also be written 7. */
const WEEKDAY: FieldRule = {
  name: "day-of-week",
  min: 0,
  max: 7,
  names: WEEKDAYS,
  example: "0 9 * * mon-fri",
};
const SATURDAY = 6;

const SHORTHANDS: Readonly<Record<string, string>> = {
  "@hourly": "0 * * * *",
  "@daily": "0 0 * * *",
  "@midnight": "0 0 * * *",
  "@weekly": "0 0 * * 0",
  "@monthly": "0 0 1 * *",
  "@yearly": "0 0 1 1 *",
  "@annually": "0 0 1 1 *",
};

/** Listing every value of every field takes less than half of this. */
const LONGEST_TEXT = 1024;

/** Reads five fields, six with leading seconds, or an `@` shorthand; throws CronParseError. */
export function readCronExpression(text: string): CompiledCron {
  const [second = "", minute = "", hour = "", day = "", month = "", weekday = ""] = splitFields(text);
  const seconds = readField(text, SECOND, second);
  const minutes = readField(text, MINUTE, minute);
  const hours = readField(text, HOUR, hour);
  const days = readField(text, DAY, day);
  const months = readField(text, MONTH, month);
  const weekdays = readField(text, WEEKDAY, weekday);
  return {
    text,
    seconds: { low: seconds.low, high: seconds.high },
    minutes: { low: minutes.low, high: minutes.high },
    hours: { low: hours.low, high: 0 },
    days: days.low,
    lastDay: days.lastDay,
    months: months.low,
    weekdays: (weekdays.low | (weekdays.low >> 7)) & 0x7f,
    nthWeekdays: weekdays.nthWeekdays,
    eitherDay: !days.star && !weekdays.star,
    everyDay: day === "*" && month === "*" && weekday === "*",
    fixedTime: !minutes.star && !hours.star,
  };
}

/** The error for an expression whose fields are right and yet no day satisfies them, as 30 February. */
export function neverMatchingError(text: string): CronParseError {
  const message = `Cron expression ${quote(text)} never matches: none of its months has such a day.`;
  return parseError(text, message, "0 0 28 2 *", DAY.name);
}

/** The six fields, a missing second filled in. */
function splitFields(text: string): readonly string[] {
  if (typeof text !== "string") throw parseError(text, `A cron expression is text, got ${quote(text)}.`);
  if (text.length > LONGEST_TEXT) {
    throw parseError(text, `Cron expression ${quote(text)} is longer than ${LONGEST_TEXT} characters.`);
  }
  const foreign = /[^\t\n\r -~]/u.exec(text)?.[0];
  if (foreign !== undefined) {
    const code = foreign.codePointAt(0)?.toString(16).toUpperCase().padStart(4, "0");
    throw parseError(
      text,
      `Cron expression ${quote(text)} has the character U+${code}, which means nothing in cron.`,
    );
  }
  const trimmed = text.trim();
  if (trimmed === "") throw parseError(text, "Cron expression is empty.");
  if (/^(CRON_)?TZ=/i.test(trimmed)) {
    throw parseError(
      text,
      `Cron expression ${quote(text)} sets a time zone: use the schedule's timezone key instead.`,
    );
  }
  const fields = (trimmed.startsWith("@") ? expandShorthand(text, trimmed) : trimmed).split(/[ \t]+/);
  if (fields.length === 5) fields.unshift("0");
  if (fields.length === 6) return fields;
  const count = fields.length === 1 ? "1 field" : `${fields.length} fields`;
  throw parseError(
    text,
    `Cron expression ${quote(text)} has ${count}: expected 5 (minute hour day-of-month month day-of-week), ` +
      "or 6 with a second in front.",
  );
}

function expandShorthand(text: string, word: string): string {
  const expression = SHORTHANDS[word.toLowerCase()];
  if (expression !== undefined) return expression;
  const known = Object.keys(SHORTHANDS).join(" ");
  throw parseError(text, `Unknown cron shorthand ${quote(word)}: known are ${known}.`, "@daily");
}

/** A field on its way from text to values, with what an error needs to say about it. */
interface Field {
  readonly expression: string;
  readonly rule: FieldRule;
  readonly text: string;
}

interface FieldValues {
  low: number;
  high: number;
  /** A `*` or `?` stands in the field, with a step or without. */
  star: boolean;
  lastDay: boolean;
  readonly nthWeekdays: NthWeekday[];
}

function readField(expression: string, rule: FieldRule, text: string): FieldValues {
  const values: FieldValues = { low: 0, high: 0, star: false, lastDay: false, nthWeekdays: [] };
  if (text === "*") {
    values.star = true;
    allow(values, rule.min, rule.max, 1);
    return values;
  }
  const field: Field = { expression, rule, text };
  for (const item of text.split(",")) {
    if (rule === DAY && (item === "L" || item === "l")) values.lastDay = true;
    else if (rule === WEEKDAY && /^\w+(L|#.*)$/i.test(item))
      values.nthWeekdays.push(readNthWeekday(field, item));
    else readRange(field, item, values);
  }
  return values;
}

/** `5L`, the last Friday of a month, or `1#2`, its second Monday. */
function readNthWeekday(field: Field, item: string): NthWeekday {
  const [, name = "", nth] = /^(\w+?)(?:L|#(.*))$/i.exec(item) ?? [];
  if (nth === undefined) return { weekday: readValue(field, name) % 7, nth: "last" };
  if (!/^[1-5]$/.test(nth)) throw fieldError(field, `# takes an occurrence from 1 to 5, got ${quote(nth)}`);
  return { weekday: readValue(field, name) % 7, nth: Number(nth) };
}

/** `*`, `5` or `5-10`, and each with a step: `5/10` goes from 5 to the end. */
function readRange(field: Field, item: string, values: FieldValues): void {
  const match = /^(?:(\*|\?)|(\w+)(?:-(\w+))?)(?:\/(\w+))?$/.exec(item);
  if (match === null)
    throw fieldError(field, item === "" ? "an item of its list is empty" : `cannot read ${quote(item)}`);
  const [, any, first, second, stepText] = match;
  const { rule } = field;
  if (any === "?" && rule !== DAY && rule !== WEEKDAY)
    throw fieldError(field, "? stands for any day only, write *");
  const end = rule === WEEKDAY ? SATURDAY : rule.max;
  const from = first === undefined ? rule.min : readValue(field, first);
  let to = first === undefined || stepText !== undefined ? Math.max(from, end) : from;
  if (second !== undefined) to = readValue(field, second);
  if (rule === WEEKDAY && to === 0 && from > 0) to = 7; // a week that ends on Sunday
  if (from > to) throw fieldError(field, `the range ${quote(item)} goes backwards`);
  const step = stepText === undefined ? 1 : readStep(field, stepText, from, to);
  values.star ||= any !== undefined;
  allow(values, from, to, step);
}

function allow(values: FieldValues, from: number, to: number, step: number): void {
  for (let value = from; value <= to; value += step) {
    if (value < 32) values.low |= 1 << value;
    else values.high |= 1 << (value - 32);
  }
}

function readStep(field: Field, text: string, from: number, to: number): number {
  const count = to - from + 1;
  const step = /^\d{1,2}$/.test(text) ? Number(text) : 0;
  if (step >= 1 && step <= count) return step;
  throw fieldError(field, `the step ${quote(text)} is not within the ${count} values it divides`);
}

function readValue(field: Field, text: string): number {
  const { min, max, names } = field.rule;
  if (/^\d+$/.test(text)) {
    const value = text.length <= 2 ? Number(text) : NaN;
    if (value >= min && value <= max) return value;
    throw fieldError(field, `${quote(text)} is out of range`);
  }
  const index = names?.indexOf(text.toLowerCase()) ?? -1;
  if (index >= 0) return min + index;
  if (/^h$/i.test(text))
    throw fieldError(field, "H needs a seed, which Rota does not take, write the value itself");
  throw fieldError(
    field,
    `${quote(text)} is not a number${names === undefined ? "" : ` or one of ${names.join(" ")}`}`,
  );
}

function fieldError({ expression, rule, text }: Field, reason: string): CronParseError {
  const { name, min, max, example } = rule;
  const message = `Invalid ${name} ${quote(text)} in cron expression ${quote(expression)}: ${reason}.`;
  return parseError(expression, `${message} The ${name} goes from ${min} to ${max}.`, example, name);
}

function parseError(
  expression: unknown,
  message: string,
  example = "0 9 * * mon-fri",
  field?: CronFieldName,
): CronParseError {
  return new CronParseError(`${message} Example: "${example}"`, {
    expression: typeof expression === "string" ? expression : quote(expression),
    field,
    example,
  });
}
