/** Suggestions for mistyped words. */
import { describe, expect, it } from "vitest";
import { closest } from "../src/closest.js";

const KNOWN = ["type", "interval", "min_interval", "max_interval", "prompt", "max_concurrent"];

describe("a mistyped word", () => {
  it.each([
    ["a letter too many", "intervall", "interval"],
    ["a letter too few", "promt", "prompt"],
    ["another letter", "prompd", "prompt"],
    ["two letters swapped", "tpye", "type"],
    ["other capitals", "maxConcurrent", "max_concurrent"],
    ["other dashes", "min-interval", "min_interval"],
  ])("with %s, %s, gets the suggestion %s", (_, word, meant) => {
    expect(closest(word, KNOWN)).toBe(meant);
  });

  it.each(["colour", "x", "", "__", "typo".repeat(40)])("such as %j gets no suggestion", (word) => {
    expect(closest(word, KNOWN)).toBeUndefined();
  });
});
