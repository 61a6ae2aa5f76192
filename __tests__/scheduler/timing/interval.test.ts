import { describe, expect, it } from "vitest";
import {
  calculateNextTrigger,
  IntervalParseError,
  isScheduleDue,
  parseInterval,
  SchedulerError,
} from "../../../src/index.js";
import { quote } from "../../../src/errors.js";
import { cpuMs } from "../../cpu-time.js";
import { thrownBy } from "../../thrown-by.js";

const EMPTY = 'Interval is empty. Expected format: "{number}{unit}"';
const MISSING = 'Missing time unit. Expected format: "{number}{unit}"';
const DECIMAL = "Decimal values are not supported";
const ZERO = "Zero interval is not allowed";
const NEGATIVE = "Negative intervals are not allowed";
const meant = (text: string, format: string): string =>
  `Invalid interval ${JSON.stringify(text)}. Expected format: "{number}{unit}"; did you mean "${format}"?`;
const unit = (text: string): string =>
  `Invalid time unit ${JSON.stringify(text)}. Valid units are: s, m, h, d`;
const other = (text: string): string =>
  `Invalid interval ${JSON.stringify(text)}. Expected format: "{number}{unit}", for example "5m"`;
const long = (text: string): string => `Interval ${JSON.stringify(text)} is too long. The longest is 36500d`;

const MALFORMED: readonly (readonly [unknown, string])[] = [
  ["", EMPTY],
  [" ", EMPTY],
  ["\n\t", EMPTY],
  ["5", MISSING],
  ["0", MISSING],
  ["300000", MISSING],
  ["5.5m", DECIMAL],
  ["0.5h", DECIMAL],
  [".5h", DECIMAL],
  ["1.0s", DECIMAL],
  ["5.5", DECIMAL],
  ["1,5h", DECIMAL],
  ["0m", ZERO],
  ["0s", ZERO],
  ["000d", ZERO],
  ["-5m", NEGATIVE],
  ["-5", NEGATIVE],
  ["-0s", NEGATIVE],
  ["-1.5h", NEGATIVE],
  ["5x", unit("x")],
  ["5ms", unit("ms")],
  ["5min", meant("5min", "5m")],
  ["10 minutes", meant("10 minutes", "10m")],
  ["1 Hour", meant("1 Hour", "1h")],
  ["2 days", meant("2 days", "2d")],
  ["30 secs", meant("30 secs", "30s")],
  ["10 fortnights", other("10 fortnights")],
  ["5M", unit("M")],
  ["5S", unit("S")],
  ["5w", unit("w")],
  ["5y", unit("y")],
  ["5mm", unit("mm")],
  ["1h30m", unit("h30m")],
  ["5m5", unit("m5")],
  ["5e3s", unit("e3s")],
  ["0x5m", unit("x5m")],
  ["5m\n", unit("m\n")],
  ["5m ", unit("m ")],
  ["5µs", unit("µs")],
  ["5m\u0000", unit("m\u0000")],
  ["5\u0000m", unit("\u0000m")],
  ["5;m", unit(";m")],
  ["5/m", unit("/m")],
  ["5constructor", unit("constructor")],
  ["5 m", meant("5 m", "5m")],
  [" 5m", other(" 5m")],
  ["+5m", other("+5m")],
  ["m", other("m")],
  ["m5", other("m5")],
  ["abc", other("abc")],
  ["-", other("-")],
  ["--5m", other("--5m")],
  ["P1D", other("P1D")],
  ["PT5M", other("PT5M")],
  ["every 5m", other("every 5m")],
  ["Infinityd", other("Infinityd")],
  ["NaNs", other("NaNs")],
  ["٥m", other("٥m")],
  ["５m", other("５m")],
  ["∞d", other("∞d")],
  ["\u0000", other("\u0000")],
  ["36501d", long("36501d")],
  ["9007199254740993s", long("9007199254740993s")],
  [`${"9".repeat(400)}d`, `Interval "${"9".repeat(80)}…" is too long. The longest is 36500d`],
  [`${"9".repeat(10_000)}s`, `Interval "${"9".repeat(80)}…" is too long. The longest is 36500d`],
  [`5${"m".repeat(10_000)}`, `Invalid time unit "${"m".repeat(80)}…". Valid units are: s, m, h, d`],
  [null, 'An interval is text such as "5m", got null'],
  [undefined, 'An interval is text such as "5m", got undefined'],
  [300_000, 'An interval is text such as "5m", got 300000'],
  [Object.create(null), 'An interval is text such as "5m", got an object'],
  [{}, 'An interval is text such as "5m", got an object'],
  [["5m"], 'An interval is text such as "5m", got an array'],
];

const refuse = (text: unknown): unknown => thrownBy(() => parseInterval(text as string));

describe("parseInterval", () => {
  it.each(MALFORMED)("refuses %j and says why", (text, message) => {
    expect(refuse(text)).toBeInstanceOf(IntervalParseError);
    expect(refuse(text)).toMatchObject({ message, interval: typeof text === "string" ? text : quote(text) });
  });

  it("takes under 5 ms of CPU to refuse any of them", () => {
    for (const [text] of MALFORMED) expect([text, cpuMs(() => refuse(text)) < 5]).toEqual([text, true]);
  });

  it("takes leading zeros, and up to a hundred years", () => {
    expect([parseInterval("05m"), parseInterval("36500d")]).toEqual([300_000, 3_153_600_000_000]);
  });
});

const now = new Date("2026-03-01T10:00:00Z");

describe("calculateNextTrigger", () => {
  it("adds the interval to the last completion", () => {
    const completed = new Date("2026-03-01T09:58:00Z");
    expect(calculateNextTrigger(completed, "5m", 0, { now })).toEqual(new Date("2026-03-01T10:03:00Z"));
  });

  it("without more than a completion takes the system's time and randomness", () => {
    const before = Date.now();
    expect(calculateNextTrigger(null, "5m").getTime()).toBeGreaterThanOrEqual(before);
    const dueMs = calculateNextTrigger(new Date(before), "1h", 10).getTime() - before;
    expect(dueMs).toBeGreaterThanOrEqual(3_600_000);
    expect(dueMs).toBeLessThanOrEqual(3_960_000);
  });

  it("draws the whole range of the jitter", () => {
    const dueWith = (drawn: number): Date =>
      calculateNextTrigger(now, "100s", 10, { now, random: () => drawn });
    expect(dueWith(0)).toEqual(new Date("2026-03-01T10:01:40Z"));
    expect(dueWith(0.9999)).toEqual(new Date("2026-03-01T10:01:49.999Z"));
  });

  it.each([-1, 10.1, 100, Number.NaN, "5"])("refuses a jitter of %j percent", (jitter) => {
    const act = (): Date => calculateNextTrigger(now, "5m", jitter as number, { now });
    expect(act).toThrow(SchedulerError);
    expect(act).toThrow("Expected 0 to 10 percent");
  });

  it("refuses an invalid completion time", () => {
    expect(() => calculateNextTrigger(new Date(Number.NaN), "5m")).toThrow(
      "The last completion is not a valid Date",
    );
  });

  it("refuses a bad interval even when the schedule never ran", () => {
    expect(() => calculateNextTrigger(null, "5x")).toThrow(IntervalParseError);
  });
});

describe("isScheduleDue", () => {
  it("without more than a time takes the system's", () => {
    expect([isScheduleDue(new Date(0)), isScheduleDue(new Date(8.64e15))]).toEqual([true, false]);
  });
});
