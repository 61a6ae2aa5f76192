/** Mistakes of a first configuration: each message says what to write instead. */
import { describe, expect, it } from "vitest";
import { parseConfig } from "../../src/config/parse-config.js";
import { problemsOf, scheduleWith } from "./problems-of.js";

const messages = (text: string): readonly string[] => problemsOf(text).map(({ message }) => message);

describe("a first configuration", () => {
  it.each(["*/5 * * * *", "* * * * *", "@daily"])("with the unquoted cron %s is told to quote it", (cron) => {
    const text = `agents:\n  - name: a\n    schedules:\n      s:\n        type: cron\n        expression: ${cron} # often\n        tz: UTC\n`;
    expect(messages(text)).toEqual([
      expect.stringContaining(`quote it: "${cron}"`),
      'Unknown key "tz": did you mean "timezone"?',
    ]);
  });

  it.each(["*/5 * * * *", "* 8,12 * * mon,fri", "*/10 * * * * *", "@daily"])(
    "with the unquoted cron %s in braces is told to quote it",
    (cron) => {
      for (const keys of [
        `type: cron, cron: ${cron}, tz: UTC`,
        `cron: ${cron}, tz: UTC, type: cron`,
        `tz: UTC, type: cron,\n          expression: ${cron} `,
        `type: cron,\n          expression: ${cron},\n          tz: UTC`,
      ])
        expect(messages(`agents:\n  - name: a\n    schedules:\n      s: { ${keys} }\n`).toSorted()).toEqual([
          expect.stringContaining(`quote it: "${cron}"`),
          'Unknown key "tz": did you mean "timezone"?',
        ]);
    },
  );

  it("may have a prompt that mentions an unquoted cron", () => {
    const text =
      "agents:\n  - name: a\n    schedules:\n      s:\n        type: chat\n        prompt: |\n          cron: * * * * *\n";
    expect(parseConfig(text).agents[0]?.schedules?.["s"]?.prompt).toBe("cron: * * * * *\n");
  });

  it.each([
    ["type: interval, interval: 10 minutes", 'did you mean "10m"?'],
    ["type: interval, every: 5m", 'Unknown key "every": did you mean "interval"?'],
    ["type: cron, cron: '@daily', timezone: Europe/Londn", 'did you mean "Europe/London"?'],
    ["type: cron, cron: '@daily', timezone: london", 'did you mean "Europe/London"?'],
  ])("with %s has one problem, with a suggestion", (schedule, suggestion) => {
    expect(messages(scheduleWith(schedule))).toEqual([expect.stringContaining(suggestion)]);
  });
});
