/** Runs one of the programs beside these tests, to the end of its process. What it said last is its answer. */
import { expect } from "vitest";
import { Child } from "../state/child.js";

export async function answerOf(name: string, ...args: string[]): Promise<Record<string, unknown>> {
  await using child = new Child(new URL(`processes/${name}`, import.meta.url).href, args);
  await child.end();
  expect(child.exitCode).toBe(0);
  return JSON.parse(child.lines.at(-1) ?? "") as Record<string, unknown>;
}
