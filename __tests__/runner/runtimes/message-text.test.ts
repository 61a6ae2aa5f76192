/** A message's line says all of it, however long it is, and is never there as a whole. */
import { describe, expect, it } from "vitest";
import { lineOf } from "../../../src/runner/runtimes/message-text.js";

describe("the output line of an SDK message", () => {
  const mark = "\0long text";
  const long = `${"x".repeat(65_535)}😀"\\\n${"ü".repeat(200_000)}`;

  it.each([
    ["with long texts", { type: "user", content: long, more: [{ text: long }, 7, "short"] }],
    ["that is a long text", long],
    ["with texts that look like the mark of a long one", { a: mark, b: long, c: `x${mark}`, d: [mark] }],
    ["with keys that look like that mark", { [mark]: long, inner: { [mark]: 1, [`${mark}"`]: mark } }],
    ["with half a surrogate pair", { content: `\ud83d${long}` }],
  ])("is the JSON of a message %s", (_, message) => {
    const line = [...lineOf(message)].join("");
    expect(line.endsWith("\n")).toBe(true);
    expect(JSON.parse(line)).toEqual(message);
    expect(line.trimEnd()).not.toContain("\n");
  });

  it("is exactly JSON.stringify for a message without long texts", () => {
    const message = { type: "user", at: new Date(0), content: ["a\nb", null, undefined, 1.5] };
    expect([...lineOf(message)]).toEqual([`${JSON.stringify(message)}\n`]);
  });

  it("comes in pieces for a long text", () => {
    const lengths = Array.from(lineOf({ content: "x".repeat(10_000_000) }), ({ length }) => length);
    expect(Math.max(...lengths)).toBe(65_536);
  });
});
