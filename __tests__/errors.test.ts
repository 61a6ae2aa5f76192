import { describe, expect, it } from "vitest";
import { messageOf } from "../src/errors.js";

describe("messageOf an error", () => {
  it.each([
    ["its message", new Error("disk full"), "disk full"],
    ["its code when it has no message", Object.assign(new AggregateError([]), { code: "E1" }), "E1"],
    ["its name when it has neither", new TypeError(""), "TypeError"],
    ["the message of an error of a different realm", { message: "disk full" }, "disk full"],
    ["a text that was thrown", "disk full", "disk full"],
    ["the text of null", null, "null"],
    ["a message that is not text", Object.assign(new Error("x"), { message: 5 }), "5"],
    ["a fixed text for an object without a prototype", Object.create(null), "an error that cannot be shown"],
  ])("is %s", (_, error, message) => {
    expect(messageOf(error)).toBe(message);
  });

  it("is a text even when reading the error throws", () => {
    const trap = Object.defineProperty(new Error("x"), "message", {
      get() {
        throw new Error("trap");
      },
    });
    expect(messageOf(trap)).toBe("an error that cannot be shown");
  });

  it("is cut when it is long", () => {
    expect(messageOf("x".repeat(1_000_000))).toHaveLength(4_001);
  });
});
