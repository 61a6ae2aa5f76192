import { CronExpressionParser } from "cron-parser";
import { describe, expect, it } from "vitest";
import { isValidCronExpression } from "../../../src/index.js";
import { readCronExpression } from "../../../src/scheduler/timing/cron-expression.js";
import { randomExpressions } from "../../oracle/plain-years.js";

describe("a cron expression", () => {
  it("reads the values that cron-parser reads, wherever that takes the text", () => {
    let compared = 0;
    for (const text of randomExpressions(3000, 11)) {
      // An open step in the week reaches Saturday here, and Sunday as the 7th day there.
      if (/\d\/\d+\S*$/.test(text)) continue;
      const theirs = readWithCronParser(text);
      if (theirs === undefined || !isValidCronExpression(text)) continue;
      expect([text, readWithRota(text)]).toEqual([text, theirs]);
      compared++;
    }
    expect(compared).toBeGreaterThan(1000);
  });
});

type Values = Record<"seconds" | "minutes" | "hours" | "days" | "months" | "weekdays", string>;

function readWithRota(text: string): Values {
  const cron = readCronExpression(text);
  const bits = (low: number, high = 0): number[] =>
    Array.from({ length: 64 }, (_, i) => i).filter((i) => (i < 32 ? low >>> i : high >>> (i - 32)) & 1);
  const months = bits(cron.months);
  const nth = cron.nthWeekdays.map((day) =>
    day.nth === "last" ? `${day.weekday}L` : `${day.weekday}#${day.nth}`,
  );
  return {
    seconds: bits(cron.seconds.low, cron.seconds.high).join(),
    minutes: bits(cron.minutes.low, cron.minutes.high).join(),
    hours: bits(cron.hours.low).join(),
    days: [...reachable(bits(cron.days), months), ...(cron.lastDay ? ["L"] : [])].join(),
    months: months.join(),
    weekdays: [...bits(cron.weekdays), ...nth].join(),
  };
}

function readWithCronParser(text: string): Values | undefined {
  try {
    const { fields } = CronExpressionParser.parse(text);
    const { nthDay } = fields.dayOfWeek;
    const weekdays = [
      ...new Set(
        fields.dayOfWeek.values.map((day) => (typeof day === "number" ? day % 7 : day.replace(/^7/, "0"))),
      ),
    ];
    return {
      seconds: fields.second.values.join(),
      minutes: fields.minute.values.join(),
      hours: fields.hour.values.join(),
      days: reachable(fields.dayOfMonth.values, fields.month.values).join(),
      months: fields.month.values.join(),
      weekdays: nthDay > 0 ? `${weekdays.join()}#${nthDay}` : weekdays.join(),
    };
  } catch {
    return undefined;
  }
}

/** Where one month is named, cron-parser drops the days it lacks, unless that leaves none. */
function reachable(days: readonly (number | string)[], months: readonly number[]): (number | string)[] {
  const longest = months.length === 1 ? new Date(Date.UTC(2024, months[0] ?? 0, 0)).getUTCDate() : 31;
  return days.filter((day) => typeof day === "string" || day <= longest);
}
