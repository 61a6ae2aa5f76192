import { describe, expect, it } from "vitest";
import {
  CronParseError,
  IntervalParseError,
  ScheduleDefinitionError,
  TimezoneError,
  validateSchedule,
} from "../../../src/index.js";

const validate = (schedule: unknown) => (): void => validateSchedule(schedule);

describe("validateSchedule", () => {
  it.each([
    { type: "interval", interval: "5m" },
    { type: "interval", interval: "5m", anchor: "start", jitter: 10, min_interval: "1m", max_interval: "1m" },
    {
      type: "interval",
      interval: "5m",
      missed: "skip",
      grace: "10s",
      prompt: "not about time",
      expression: undefined,
    },
    { type: "cron", expression: "0 9 * * 1-5", timezone: "Europe/London", missed: "once" },
    { type: "cron", cron: "@daily", min_interval: "1m" },
    { type: "cron", expression: "@daily", cron: undefined, timezone: undefined, grace: undefined },
    { type: "once", at: "2026-03-01T09:00:00Z" },
    { type: "once", at: "2026-03-01T09:00:00+05:45", grace: "1h" },
    { type: "once", at: "2028-02-29T23:30-08:00", missed: "once" },
    { type: "once", at: "2026-03-01T09:00:00.125Z" },
    { type: "webhook" },
    { type: "chat", prompt: "hello" },
  ])("accepts %j", (schedule) => {
    expect(validate(schedule)).not.toThrow();
  });

  it.each([
    [{ type: "daily" }, "type", 'Invalid type "daily": expected one of interval, cron, once, webhook, chat'],
    [{}, "type", "Invalid type undefined: expected one of interval, cron, once, webhook, chat"],
    [{ type: {} }, "type", "Invalid type an object: expected one of interval, cron, once, webhook, chat"],
    [null, "type", "Invalid type undefined: expected one of interval, cron, once, webhook, chat"],
    ["5m", "type", "Invalid type undefined: expected one of interval, cron, once, webhook, chat"],
    [
      { type: "interval", interval: "5m", grace: "5x" },
      "grace",
      'Invalid grace "5x": Invalid time unit "x". Valid units are: s, m, h, d',
    ],
    [
      { type: "cron", expression: "@daily", min_interval: "-1s" },
      "min_interval",
      'Invalid min_interval "-1s": Negative intervals are not allowed',
    ],
    [
      { type: "cron", expression: "@daily", max_interval: null },
      "max_interval",
      'Invalid max_interval null: An interval is text such as "5m", got null',
    ],
    [
      { type: "constructor" },
      "type",
      'Invalid type "constructor": expected one of interval, cron, once, webhook, chat',
    ],
    [
      { type: "cron", expression: "@daily", interval: "5m" },
      "interval",
      "A schedule of type cron cannot have the key interval: remove it",
    ],
    [
      { type: "interval", interval: "5m", cron: "@daily" },
      "cron",
      "A schedule of type interval cannot have the key cron: remove it",
    ],
    [
      { type: "cron", expression: "@daily", cron: "@daily" },
      "cron",
      "A schedule has either expression or cron, which mean the same: remove one",
    ],
    [
      { type: "cron", expression: "@daily", jitter: 5 },
      "jitter",
      "A schedule of type cron cannot have the key jitter: remove it",
    ],
    [
      { type: "webhook", interval: "5m" },
      "interval",
      "A schedule of type webhook cannot have the key interval: remove it",
    ],
    [
      { type: "interval", interval: "5m", anchor: "end" },
      "anchor",
      'Invalid anchor "end": expected "completion" or "start"',
    ],
    [
      { type: "interval", interval: "5m", jitter: 11 },
      "jitter",
      "Invalid jitter 11: expected 0 to 10 percent",
    ],
    [
      { type: "interval", interval: "5m", jitter: "5" },
      "jitter",
      'Invalid jitter "5": expected 0 to 10 percent',
    ],
    [
      { type: "interval", interval: "5m", missed: "all" },
      "missed",
      'Invalid missed "all": expected "skip" or "once"',
    ],
    [
      { type: "cron", expression: "@daily", min_interval: "2m", max_interval: "1m" },
      "min_interval",
      'Invalid min_interval "2m": expected at most max_interval, which is "1m"',
    ],
  ])("refuses %j", (schedule, key, message) => {
    expect(validate(schedule)).toThrow(ScheduleDefinitionError);
    expect(validate(schedule)).toThrow(
      expect.objectContaining({ key, message, code: "INVALID_SCHEDULE", name: "ScheduleDefinitionError" }),
    );
  });

  it.each([
    undefined,
    null,
    1_772_355_600_000,
    "tomorrow",
    "2026-03-01",
    "2026-03-01T09:00:00",
    "2026-03-01 09:00:00Z",
    "1 March 2026 09:00 Z",
    "2026-02-30T09:00:00Z",
    "2026-13-01T09:00:00Z",
    "2026-03-01T25:00:00Z",
    "2026-03-01T09:00:00Zzz",
  ])("refuses a once schedule at %j", (at) => {
    const expected = 'expected an ISO time with its offset, such as "2026-03-01T09:00:00Z"';
    expect(validate({ type: "once", at })).toThrow(ScheduleDefinitionError);
    expect(validate({ type: "once", at })).toThrow(`Invalid at ${JSON.stringify(at)}: ${expected}`);
  });

  it.each([
    [{ type: "interval" }, IntervalParseError],
    [{ type: "interval", interval: "0s" }, IntervalParseError],
    [{ type: "cron" }, CronParseError],
    [{ type: "cron", expression: "0 0 30 2 *" }, CronParseError],
    [{ type: "cron", expression: "@daily", timezone: "Mars/Olympus" }, TimezoneError],
    [{ type: "cron", expression: "@daily", timezone: "" }, TimezoneError],
  ])("refuses %j with the error of the value at fault", (schedule, expected) => {
    expect(validate(schedule)).toThrow(expected);
  });
});
