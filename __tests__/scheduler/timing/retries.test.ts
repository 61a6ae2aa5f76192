import { expect, it } from "vitest";
import { isTriedAgain, type RetryOptions } from "../../../src/scheduler/timing/retries.js";

it.each<[string, number | RetryOptions, boolean]>([
  ["failed", 1, true],
  ["timeout", { count: 1 }, true],
  ["timeout", { count: 1, on: ["failed"] }, false],
  ["failed", { count: 1, on: ["timeout", "failed"] }, true],
  ["failed", 0, false],
  ["cancelled", 1, false],
  ["interrupted", { count: 1 }, false],
  ["completed", 1, false],
])("a job that ended as %s, with retries %j, is tried again: %s", (status, retries, expected) => {
  expect(isTriedAgain(retries, 1, status)).toBe(expected);
  expect(isTriedAgain(retries, 2, status)).toBe(false);
});
