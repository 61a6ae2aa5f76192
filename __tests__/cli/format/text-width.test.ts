import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cutToWidth, oneLine, textWidth } from "../../../src/cli/format/text-width.js";

describe("the width of a text", () => {
  it.each([
    ["plain letters", "abc", 3],
    ["a letter and its accent as two characters", "e\u0301", 1],
    ["ideographs", "日本語", 6],
    ["full-width letters", "ＡＢ", 4],
    ["hangul", "한국", 4],
    ["an emoji", "🚀", 2],
    ["a family that is one picture", "👨‍👩‍👧", 2],
    ["a sign shown as an emoji", "✔️", 2],
    ["a sign that is no emoji", "✔", 1],
    ["a space without width", "\u200b", 0],
    ["nothing", "", 0],
  ])("of %s is what a terminal takes", (_, text, width) => {
    expect(textWidth(text)).toBe(width);
  });
});

describe("a cut text", () => {
  it("is never wider than the limit, and a text that fits stays unchanged", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "grapheme", maxLength: 30 }),
        fc.integer({ min: 0, max: 40 }),
        (text, width) => {
          const cut = cutToWidth(text, width);
          expect(textWidth(cut)).toBeLessThanOrEqual(width);
          expect(cut === text).toBe(textWidth(text) <= width);
        },
      ),
    );
  });

  it("never splits a wide character", () => {
    expect(cutToWidth("日本語", 4)).toBe("日…");
  });
});

describe("oneLine", () => {
  it("removes control characters and line breaks", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 60 }), (text) => {
        expect(oneLine(text)).not.toMatch(/[\p{Control}\u{2028}\u{2029}\u{202a}-\u{202e}\u{2066}-\u{2069}]/u);
      }),
    );
  });
});
