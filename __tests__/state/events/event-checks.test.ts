import { describe, expect, it } from "vitest";
import { checkPayload, jsonText, payloadText } from "../../../src/state/events/event-checks.js";
import { thrownBy } from "../../thrown-by.js";

/** A text whose JSON has exactly so many bytes. */
function textOf(bytes: number, character = "x"): string {
  const size = Buffer.byteLength(character);
  const left = bytes - 2;
  return character.repeat(Math.floor(left / size)) + "x".repeat(left % size);
}

describe("a payload", () => {
  it.each([
    ["an object", { a: [1, null, "é 😀"] }, '{"a":[1,null,"é 😀"]}'],
    ["a text", "x", '"x"'],
    ["nothing, said as null", null, "null"],
    ["what a toJSON makes of itself", new Date(0), '"1970-01-01T00:00:00.000Z"'],
    ["a text that shows an escape", String.raw`\u0000 \ud800`, String.raw`"\\u0000 \\ud800"`],
    ["keys that every object has from birth", JSON.parse('{"__proto__":1}'), '{"__proto__":1}'],
  ])("is %s as JSON text", (_, value, text) => {
    expect(payloadText(value)).toBe(text);
    expect(() => checkPayload(text)).not.toThrow();
  });

  const cycle: { self?: unknown } = {};
  cycle.self = cycle;
  it.each([
    ["undefined", undefined],
    ["a function", () => 1],
    ["a symbol", Symbol("x")],
    ["a big integer", { n: 1n }],
    ["a cycle", cycle],
    ["NaN within", { n: [Number.NaN] }],
    ["Infinity", Number.POSITIVE_INFINITY],
    ["a NUL character", { text: "a\0b" }],
    ["a NUL character in a key", { "\0": 1 }],
    ["a NUL after a backslash", "\\\0"],
    ["the first half of a surrogate pair", "\ud83d"],
    ["the second half of a surrogate pair", ["\ude00x"]],
    [
      "an object that cannot be read",
      {
        get x() {
          throw new Error("no");
        },
      },
    ],
  ])("is refused with a code: %s", (_, value) => {
    expect(thrownBy(() => payloadText(value))).toMatchObject({ name: "EventError", code: "INVALID_PAYLOAD" });
  });

  it.each(["x", "é", "😀"])("has at most 1 MB as UTF-8, of %s", (character) => {
    const most = payloadText(textOf(1_000_000, character));
    expect(Buffer.byteLength(most)).toBe(1_000_000);
    expect(thrownBy(() => payloadText(`${textOf(1_000_000, character)}x`))).toMatchObject({
      code: "PAYLOAD_TOO_LARGE",
    });
  });

  it("is refused as text that is none", () => {
    expect(thrownBy(() => checkPayload(7 as never))).toMatchObject({ code: "INVALID_PAYLOAD" });
    expect(thrownBy(() => checkPayload('"\ud800"'))).toMatchObject({ code: "INVALID_PAYLOAD" });
    expect(thrownBy(() => checkPayload('"\0"'))).toMatchObject({ code: "INVALID_PAYLOAD" });
  });

  it("is the only value with a limit: a state may be longer", () => {
    expect(jsonText(textOf(2_000_000), "state")).toHaveLength(2_000_000);
  });

  it("is named in the message, with what to do", () => {
    expect(thrownBy(() => payloadText(undefined))).toMatchObject({
      message: 'Not a payload: "undefined" has no JSON. Pass null for nothing.',
    });
  });
});
