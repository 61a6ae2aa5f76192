/** A file with twenty planted mistakes of every kind: exactly these are found, with their positions. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { problemsOf, refusalOf } from "./problems-of.js";

const text = readFileSync(new URL("fixtures/twenty-mistakes.yaml", import.meta.url), "utf8");

describe("a configuration with twenty mistakes", () => {
  it("is rejected with twenty problems, in the order of its lines", () => {
    const found = problemsOf(text).map(
      ({ line, column, code, where }) => `${line}:${column} ${code} ${where}`,
    );
    expect(found).toEqual([
      "1:10 INVALID_VALUE version",
      "2:11 INVALID_VALUE timezone",
      "3:1 UNKNOWN_KEY jiter",
      "6:21 INVALID_VALUE defaults, instances, max_concurrent",
      '9:5 UNKNOWN_KEY agents[0] "reader", descripton',
      '10:22 UNKNOWN_TYPE agents[0] "reader", runtime, type',
      '12:41 INVALID_VALUE agents[0] "reader", schedule "news", interval',
      '13:40 INVALID_VALUE agents[0] "reader", schedule "night", expression',
      '17:20 INVALID_VALUE agents[0] "reader", schedule "noon", when_busy',
      '18:31 INVALID_VALUE agents[0] "reader", schedule "soon", at',
      '21:14 INVALID_VALUE agents[1] "writer", runtime, command',
      '23:22 UNKNOWN_TYPE agents[1] "writer", schedule "often", type',
      '24:31 UNKNOWN_KEY agents[1] "writer", schedule "slow", intervall',
      '25:44 UNKNOWN_KEY agents[1] "writer", schedule "odd", expression',
      '26:59 INVALID_VALUE agents[1] "writer", schedule "both", min_interval',
      '27:11 DUPLICATE_NAME agents[2] "reader", name',
      '28:33 INVALID_VALUE agents[2] "reader", runtime, url',
      '29:14 INVALID_VALUE agents[2] "reader", timeout',
      '33:19 UNSET_VARIABLE agents[2] "reader", schedule "inbox", interval',
      '34:9 MISSING_KEY agents[2] "reader", schedule "inbox", work_source, path',
    ]);
  });

  it("is rejected with one error that shows them all", () => {
    const { message, code } = refusalOf(text);
    expect(code).toBe("INVALID_CONFIG");
    expect(message).toMatch(/^rota\.yaml has 20 problems\.\n\n/);
    expect(message.match(/^rota\.yaml:\d+:\d+ /gm)).toHaveLength(20);
  });

  it("has suggestions for misspelt keys, types and values", () => {
    const meant = problemsOf(text).flatMap(({ given, suggestion }) =>
      suggestion === undefined ? [] : [`${given} ${suggestion}`],
    );
    expect(meant).toEqual([
      '"jiter" jitter',
      '"descripton" description',
      '"comand" command',
      '"wat" wait',
      '"intervall" interval',
      '"intervall" interval',
    ]);
  });
});
