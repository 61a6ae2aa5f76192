import { describe, expect, it } from "vitest";
import {
  type CronFieldName,
  CronParseError,
  isValidCronExpression,
  nextCronRun,
  parseCronExpression,
} from "../../../src/index.js";
import { quote } from "../../../src/errors.js";
import { cpuMs } from "../../cpu-time.js";
import { thrownBy } from "../../thrown-by.js";

const WHOLE = undefined;

const MALFORMED: readonly (readonly [text: unknown, field: CronFieldName | undefined, reason: string])[] = [
  // not an expression at all
  ["", WHOLE, "is empty"],
  ["   ", WHOLE, "is empty"],
  ["\t\n", WHOLE, "is empty"],
  [undefined, WHOLE, "is text, got undefined"],
  [null, WHOLE, "is text, got null"],
  [5, WHOLE, "is text, got 5"],
  [{}, WHOLE, "is text, got an object"],
  [Object.create(null), WHOLE, "is text, got"],
  [["* * * * *"], WHOLE, "is text"],
  ["banana", WHOLE, "has 1 field"],
  ["*", WHOLE, "has 1 field"],
  ["5 5", WHOLE, "has 2 fields"],
  ["* * *", WHOLE, "has 3 fields"],
  ["* * * *", WHOLE, "has 4 fields"],
  ["* * * * * * *", WHOLE, "has 7 fields"],
  ["0 0 1 1 * 2026 2027", WHOLE, "has 7 fields"],
  ["* * * * * # comment", WHOLE, "has 7 fields"],
  ["*,*,*,*,*", WHOLE, "has 1 field"],
  ["*****", WHOLE, "has 1 field"],
  ["every 5 minutes", WHOLE, "has 3 fields"],
  ["TZ=UTC * * * * *", WHOLE, "use the schedule's timezone"],
  ["CRON_TZ=Europe/London 0 9 * * *", WHOLE, "use the schedule's timezone"],
  ["tz=utc 0 9 * * *", WHOLE, "use the schedule's timezone"],
  // shorthands
  ["@reboot", WHOLE, "known are @hourly @daily @midnight @weekly @monthly @yearly @annually"],
  [" @reboot ", WHOLE, 'Unknown cron shorthand "@reboot"'],
  ["@", WHOLE, "Unknown cron shorthand"],
  ["@dayly", WHOLE, "Unknown cron shorthand"],
  ["@daily @daily", WHOLE, "Unknown cron shorthand"],
  ["@every 5m", WHOLE, "Unknown cron shorthand"],
  ["@minutely", WHOLE, "Unknown cron shorthand"],
  ["@__proto__", WHOLE, "Unknown cron shorthand"],
  ["@constructor", WHOLE, "Unknown cron shorthand"],
  // characters
  ["* * * * *\u0000", WHOLE, "U+0000"],
  ["\u0000", WHOLE, "U+0000"],
  ["*\u00a0* * * *", WHOLE, "U+00A0"],
  ["\ufeff* * * * *", WHOLE, "U+FEFF"],
  ["٥ * * * *", WHOLE, "U+0665"],
  ["５ * * * *", WHOLE, "U+FF15"],
  ["🕔 * * * *", WHOLE, "U+1F554"],
  ["0 9 * * lundí", WHOLE, "U+00ED"],
  ["*\u2028* * * *", WHOLE, "U+2028"],
  ["\ud800 * * * *", WHOLE, "U+D800"],
  ["0 0 1\n* *", WHOLE, "has 4 fields"],
  ["x".repeat(10_000), WHOLE, "longer than 1024"],
  [`${"1,".repeat(5_000)}1 * * * *`, WHOLE, "longer than 1024"],
  [" ".repeat(10_000), WHOLE, "longer than 1024"],
  // one field out of its range
  ["60 * * * *", "minute", '"60" is out of range'],
  ["999 * * * *", "minute", "out of range"],
  ["00005 * * * *", "minute", "out of range"],
  ["99999999999999999999 * * * *", "minute", "out of range"],
  ["60 0 * * * *", "second", "out of range"],
  ["* 24 * * *", "hour", "out of range"],
  ["0 0 0 * *", "day-of-month", "out of range"],
  ["0 0 32 * *", "day-of-month", "out of range"],
  ["0 0 1 0 *", "month", "out of range"],
  ["0 0 1 13 *", "month", "out of range"],
  ["0 0 * * 8", "day-of-week", "out of range"],
  ["0 0 * * 5-8", "day-of-week", "out of range"],
  ["0-60 * * * *", "minute", "out of range"],
  // signs, fractions, other notations
  ["-5 * * * *", "minute", "cannot read"],
  ["+5 * * * *", "minute", "cannot read"],
  ["5.5 * * * *", "minute", "cannot read"],
  ["0x5 * * * *", "minute", '"0x5" is not a number'],
  ["1e1 * * * *", "minute", '"1e1" is not a number'],
  ["1_0 * * * *", "minute", '"1_0" is not a number'],
  ["five * * * *", "minute", '"five" is not a number'],
  ["a b c d e", "minute", '"a" is not a number'],
  ["null * * * *", "minute", '"null" is not a number'],
  ["NaN * * * *", "minute", '"NaN" is not a number'],
  ["$(date) * * * *", "minute", "cannot read"],
  // stars
  ["** * * * *", "minute", "cannot read"],
  ["5* * * * *", "minute", "cannot read"],
  ["*5 * * * *", "minute", "cannot read"],
  ["*-5 * * * *", "minute", "cannot read"],
  ["1-* * * * *", "minute", "cannot read"],
  ["? * * * *", "minute", "any day only"],
  ["* ? * * *", "hour", "any day only"],
  // lists and ranges
  ["1,,2 * * * *", "minute", "an item of its list is empty"],
  [",1 * * * *", "minute", "an item of its list is empty"],
  ["1, * * * *", "minute", "an item of its list is empty"],
  [", * * * *", "minute", "an item of its list is empty"],
  ["5-1 * * * *", "minute", "goes backwards"],
  ["* 22-4 * * *", "hour", "goes backwards"],
  ["0 0 * * 6-1", "day-of-week", "goes backwards"],
  ["0 0 1 nov-feb *", "month", "goes backwards"],
  ["1-2-3 * * * *", "minute", "cannot read"],
  ["1- * * * *", "minute", "cannot read"],
  ["-1 * * * *", "minute", "cannot read"],
  ["1--5 * * * *", "minute", "cannot read"],
  ["1~5 * * * *", "minute", "cannot read"],
  ["1;5 * * * *", "minute", "cannot read"],
  // steps
  ["*/0 * * * *", "minute", 'the step "0"'],
  ["*/61 * * * *", "minute", 'the step "61"'],
  ["*/100 * * * *", "minute", 'the step "100"'],
  ["*/x * * * *", "minute", 'the step "x"'],
  ["*/-5 * * * *", "minute", "cannot read"],
  ["*/1.5 * * * *", "minute", "cannot read"],
  ["*/ * * * *", "minute", "cannot read"],
  ["/5 * * * *", "minute", "cannot read"],
  ["5/ * * * *", "minute", "cannot read"],
  ["1/2/3 * * * *", "minute", "cannot read"],
  ["*/5-10 * * * *", "minute", "cannot read"],
  ["1-5/9 * * * *", "minute", 'the step "9"'],
  ["50/30 * * * *", "minute", 'the step "30"'],
  ["* */25 * * *", "hour", 'the step "25"'],
  ["0 0 */32 * *", "day-of-month", 'the step "32"'],
  ["0 0 1 */13 *", "month", 'the step "13"'],
  ["0 0 * * */8", "day-of-week", 'the step "8"'],
  // names
  ["0 0 1 foo *", "month", "or one of jan feb"],
  ["0 0 1 january *", "month", "or one of jan feb"],
  ["0 0 1 janfeb *", "month", "or one of jan feb"],
  ["0 0 1 jan1 *", "month", "or one of jan feb"],
  ["0 0 * * monday", "day-of-week", "or one of sun mon"],
  ["0 0 * * mon,tues", "day-of-week", "or one of sun mon"],
  ["0 0 mon * *", "day-of-month", '"mon" is not a number'],
  ["jan * * * *", "minute", '"jan" is not a number'],
  // last, nth, nearest, hashed
  ["0 0 15L * *", "day-of-month", '"15L" is not a number'],
  ["0 0 LL * *", "day-of-month", '"LL" is not a number'],
  ["0 0 L-3 * *", "day-of-month", '"L" is not a number'],
  ["0 0 L/2 * *", "day-of-month", '"L" is not a number'],
  ["0 0 1W * *", "day-of-month", '"1W" is not a number'],
  ["L * * * *", "minute", '"L" is not a number'],
  ["0 0 * * L", "day-of-week", '"L" is not a number'],
  ["0 0 * * 9L", "day-of-week", "out of range"],
  ["0 0 * * 1L2", "day-of-week", '"1L2" is not a number'],
  ["0 0 * * 1#", "day-of-week", '# takes an occurrence from 1 to 5, got ""'],
  ["0 0 * * 1#0", "day-of-week", "# takes an occurrence"],
  ["0 0 * * 1#6", "day-of-week", "# takes an occurrence"],
  ["0 0 * * 1#2.5", "day-of-week", "# takes an occurrence"],
  ["0 0 * * 1#1#2", "day-of-week", "# takes an occurrence"],
  ["0 0 * * 8#1", "day-of-week", "out of range"],
  ["0 0 * * #2", "day-of-week", "cannot read"],
  ["0 0 * * 1-5#2", "day-of-week", "cannot read"],
  ["0 0 1#2 * *", "day-of-month", "cannot read"],
  ["H * * * *", "minute", "H needs a seed"],
  ["H H * * *", "minute", "H needs a seed"],
  ["H/5 * * * *", "minute", "H needs a seed"],
  ["0 H * * *", "hour", "H needs a seed"],
  ["H(0-29) * * * *", "minute", "cannot read"],
];

const NEVER_MATCHING = [
  "0 0 30 2 *",
  "0 0 31 2 *",
  "0 0 31 4 *",
  "0 0 30,31 2 *",
  "0 0 31 2,4,6,9,11 *",
  "0 0 30-31 feb *",
  "0 0 31 4/5 ?",
];

const refuse = (text: unknown): unknown => thrownBy(() => parseCronExpression(text as string));

describe("parseCronExpression", () => {
  it.each(MALFORMED)("refuses %j and says why", (text, field, reason) => {
    const error = refuse(text) as CronParseError;
    expect(error).toBeInstanceOf(CronParseError);
    expect(error.message).toContain(reason);
    expect(error.message.length).toBeLessThan(500);
    expect(error.field).toBe(field);
    expect(error.expression).toBe(typeof text === "string" ? text : quote(text));
    expect(error).toMatchObject({ name: "CronParseError", code: "CRON_PARSE_ERROR" });
    expect(error.message).toContain(`Example: "${error.example}"`);
    expect(isValidCronExpression(error.example)).toBe(true);
    expect(isValidCronExpression(text as string)).toBe(false);
    expect(/ The ([a-z-]+) goes from \d+ to \d+\./.exec(error.message)?.[1]).toBe(field);
  });

  it.each(NEVER_MATCHING)("refuses %j, which no day can match", (text) => {
    expect(refuse(text)).toMatchObject({ field: "day-of-month" });
    expect(refuse(text)).toMatchObject({ message: expect.stringContaining("never matches") as string });
  });

  it("takes under 5 ms of CPU to refuse any of them, under 200 ms where nothing ever matches", () => {
    for (const [text] of MALFORMED) expect([text, cpuMs(() => refuse(text)) < 5]).toEqual([text, true]);
    for (const text of NEVER_MATCHING) expect([text, cpuMs(() => refuse(text)) < 200]).toEqual([text, true]);
  });

  it("is refused at fire time no differently than when it was defined", () => {
    expect(() => nextCronRun("61 * * * *", new Date(0), "UTC")).toThrow(CronParseError);
  });
});
