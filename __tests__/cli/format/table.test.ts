import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Paint, paintFor } from "../../../src/cli/format/style.js";
import { type Column, tableLines } from "../../../src/cli/format/table.js";
import { textWidth } from "../../../src/cli/format/text-width.js";

const plain: Paint = (_, text) => text;
const COLUMNS: readonly Column[] = [
  { title: "ID" },
  { title: "TOOK", align: "right" },
  { title: "WHAT", cutTo: 6 },
];

function draw(rows: readonly (readonly string[])[], width = Infinity): string[] {
  return tableLines(COLUMNS, rows, { width, paint: plain });
}

describe("a table", () => {
  it("aligns its columns, without trailing spaces", () => {
    expect(
      draw([
        ["a", "5m", ""],
        ["longer", "12h", "said so"],
      ]),
    ).toEqual(["ID      TOOK  WHAT", "a         5m", "longer   12h  said so"]);
  });

  it("cuts only columns that may be cut, with an ellipsis, to fit the terminal", () => {
    expect(draw([["job-1", "5m", "a long story"]], 20)).toEqual([
      "ID     TOOK  WHAT",
      "job-1    5m  a long…",
    ]);
  });

  it("cuts no cell that is whole, and uses its short form first", () => {
    const columns = [
      { title: "ID", cutTo: 4 },
      { title: "WHAT", cutTo: 4 },
    ];
    const rows = [[{ text: "job-abcdefgh", short: "abcdefgh", isWhole: true }, "a long text"]];
    const lines = (width: number): string[] => tableLines(columns, rows, { width, paint: (_, text) => text });
    expect(lines(18)[1]).toBe("job-abcdefgh  a l…");
    expect(lines(14)[1]).toBe("abcdefgh  a l…");
    expect(lines(10)[1]).toBe("abcdefgh  a l…");
  });

  it("cuts no column below its minimum width", () => {
    expect(draw([["job-1", "5m", "a long story"]], 5)[1]).toBe("job-1    5m  a lon…");
  });

  it("uses short forms when the full ones do not fit", () => {
    const rows = [[{ text: "2026-03-01", short: "03-01" }, "5m", "a long story"]];
    expect(tableLines(COLUMNS, rows, { width: 23, paint: plain })[1]).toBe("03-01    5m  a long st…");
    expect(tableLines(COLUMNS, rows, { width: 24, paint: plain })[1]).toBe("2026-03-01    5m  a lon…");
  });

  it("drops columns in their order when short forms are not enough", () => {
    const columns = [{ title: "A", dropAs: 2 }, { title: "B", dropAs: 1 }, { title: "C" }];
    const drawn = (width: number): string | undefined =>
      tableLines(columns, [["aaaa", "bbbb", "cccc"]], { width, paint: plain })[1];
    expect([16, 15, 9, 4].map(drawn)).toEqual(["aaaa  bbbb  cccc", "aaaa  cccc", "cccc", "cccc"]);
  });

  it("counts wide characters as two", () => {
    expect(
      draw([
        ["日本", "1s", "x"],
        ["abc", "1s", "y"],
      ]),
    ).toEqual(["ID    TOOK  WHAT", "日本    1s  x", "abc     1s  y"]);
  });

  it("counts no style as width", () => {
    const paint = paintFor({ write: () => {}, isTTY: true }, {});
    const [, one, two] = tableLines(
      COLUMNS,
      [
        [{ text: "a", style: "red" }, "1s", ""],
        ["bb", "1s", ""],
      ],
      {
        width: 80,
        paint,
      },
    );
    expect(one).toBe("\u001b[31ma\u001b[39m     1s");
    expect(two).toBe("bb    1s");
  });

  it("replaces control characters, and keeps each row on one line", () => {
    expect(draw([["a", "1s", "two\nlines \u001b[2J\u009b1m\u202e"]])[1]).toBe(
      "a     1s  two lines \ufffd[2J\ufffd1m\ufffd",
    );
  });

  it("never exceeds the terminal's width when the fixed columns fit", () => {
    const cell = fc.string({ unit: "grapheme", maxLength: 40 });
    fc.assert(
      fc.property(fc.array(cell, { maxLength: 8 }), fc.integer({ min: 20, max: 120 }), (texts, width) => {
        const lines = draw(
          texts.map((text) => ["job-1", "5m", text]),
          width,
        );
        for (const line of lines) expect(textWidth(line)).toBeLessThanOrEqual(width);
      }),
    );
  });

  it("starts all cells of a column at the same position", () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: "grapheme", maxLength: 20 }), { minLength: 1, maxLength: 8 }),
        (texts) => {
          const lines = draw(texts.map((text) => [text, "", "|"]));
          const places = lines.slice(1).map((line) => textWidth(line.slice(0, line.lastIndexOf("|"))));
          expect(new Set(places).size).toBe(1);
        },
      ),
    );
  });
});
