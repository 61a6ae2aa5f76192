import { readdirSync } from "node:fs";
import { afterEach, describe, expect, it, vi } from "vitest";

const folder = new URL("../../examples/", import.meta.url);

/** What an example prints, run as a user runs it but with "rota" being the source. */
async function printed(example: string): Promise<string> {
  const lines: unknown[] = [];
  vi.spyOn(console, "log").mockImplementation((line) => lines.push(line));
  await import(new URL(example, folder).href);
  return lines.join("\n");
}

describe("the examples", () => {
  afterEach(() => vi.restoreAllMocks());

  it("are all known here", () => {
    expect(readdirSync(folder)).toEqual(["clock-change-night.js"]);
  });

  it("clock-change-night runs each schedule at its time and says why", async () => {
    const night = await printed("clock-change-night.js");
    expect(night).toMatch(/^Sat, 20:00 GMT-5 {2}crawler {9}first-run$/m);
    expect(night).toMatch(/^Sat, 21:00 GMT-5 {2}inbox {11}ai-interval$/m);
    expect(night).toMatch(/^Sun, 03:00 GMT-4 {2}nightly-report {2}baseline-cron$/m); // 02:30 did not exist
    expect(night).toMatch(/^Sun, 04:00 GMT-4 {2}inbox {11}baseline-cron$/m);
    expect(night).toMatch(/^Sun, 03:02 GMT-4 {2}flaky-sync {6}baseline-interval, after 2 failed in a row$/m);
    expect(night).toContain("15 hours took no time at all.");
  });
});
