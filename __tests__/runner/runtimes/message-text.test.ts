/** A message's line says all of it, however long it is, and is never there as a whole. */
import { describe, expect, it } from "vitest";
import { lineOf } from "../../../src/runner/runtimes/message-text.js";

describe("the line of a message", () => {
  const mark = "\0long text";
  const long = `${"x".repeat(65_535)}😀"\\\n${"ü".repeat(200_000)}`;

  it.each([
    ["with long texts", { type: "user", content: long, more: [{ text: long }, 7, "short"] }],
    ["that is a long text", long],
    ["with texts that look like the mark of a long one", { a: mark, b: long, c: `x${mark}`, d: [mark] }],
    ["with names that look like it", { [mark]: long, inner: { [mark]: 1, [`${mark}"`]: mark } }],
    ["with half a character", { content: `\ud83d${long}` }],
  ])("%s is its JSON", (_, message) => {
    const line = [...lineOf(message)].join("");
    expect(line.endsWith("\n")).toBe(true);
    expect(JSON.parse(line)).toEqual(message);
    expect(line.trimEnd()).not.toContain("\n");
  });

  it("is the very JSON of a message that has no long texts", () => {
    const message = { type: "user", at: new Date(0), content: ["a\nb", null, undefined, 1.5] };
    expect([...lineOf(message)]).toEqual([`${JSON.stringify(message)}\n`]);
  });

  it("comes in pieces", () => {
    const lengths = Array.from(lineOf({ content: "x".repeat(10_000_000) }), ({ length }) => length);
    expect(Math.max(...lengths)).toBe(65_536);
  });
});
