import { describe, expect, it } from "vitest";
import { paintFor } from "../../../src/cli/format/style.js";

const isPainted = (isTTY: boolean, env: Record<string, string>, isWanted = true): boolean =>
  paintFor({ write: () => {}, isTTY }, env, isWanted)("red", "x") !== "x";

describe("colour", () => {
  it.each([
    ["is for terminals", true, {}, true],
    ["is not for files", false, {}, false],
    ["is not for terminals that have none", true, { TERM: "dumb" }, false],
    ["is switched off by NO_COLOR", true, { NO_COLOR: "1" }, false],
    ["is not switched off by an empty NO_COLOR", true, { NO_COLOR: "" }, true],
    ["is forced by FORCE_COLOR", false, { FORCE_COLOR: "1" }, true],
    ["is switched off by a FORCE_COLOR of 0", true, { FORCE_COLOR: "0" }, false],
    [
      "is forced although there is NO_COLOR too, as in Node",
      false,
      { FORCE_COLOR: "1", NO_COLOR: "1" },
      true,
    ],
  ] as const)("%s", (_, isTTY, env, expected) => {
    expect(isPainted(isTTY, env)).toBe(expected);
  });

  it("is off with --no-color", () => {
    expect(isPainted(true, { FORCE_COLOR: "1" }, false)).toBe(false);
  });

  it("is reset after each text, whatever the process's own stdout is", () => {
    expect(paintFor({ write: () => {}, isTTY: true }, {})("green", "ok")).toBe("\u001b[32mok\u001b[39m");
  });
});
