import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterEach, describe, expect, it, vi } from "vitest";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** What a program prints, run as a user runs it but with "rota" being the source. */
async function printedBy(file: string): Promise<string> {
  const lines: string[] = [];
  vi.spyOn(console, "log").mockImplementation((...words: unknown[]) => lines.push(words.join(" ")));
  vi.spyOn(console, "info").mockImplementation(() => {});
  await import(pathToFileURL(file).href);
  return lines.join("\n");
}

/** What the programs in a document print, all of them together. */
async function printedByDocument(name: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "rota-docs-"));
  // What the programs make goes with them.
  vi.stubEnv("TMPDIR", folder);
  vi.spyOn(process, "cwd").mockReturnValue(folder);
  const programs = readFileSync(join(root, name), "utf8").matchAll(/^```js\n(.*?)^```$/gms);
  let printed = "";
  try {
    for (const [index, [, program = ""]] of [...programs].entries()) {
      const file = join(folder, `${index}.js`);
      writeFileSync(file, program);
      printed += `${await printedBy(file)}\n`;
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
  return printed;
}

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

describe("the examples", () => {
  it("are all known here", () => {
    expect(readdirSync(join(root, "examples")).toSorted()).toEqual([
      "clock-change-night.js",
      "directory-work.js",
    ]);
  });

  it("clock-change-night runs each schedule at its time and says why", async () => {
    const night = await printedBy(join(root, "examples/clock-change-night.js"));
    expect(night).toMatch(/^Sat, 20:00 GMT-5 {2}crawler {9}first-run$/m);
    expect(night).toMatch(/^Sat, 21:00 GMT-5 {2}inbox {11}ai-interval$/m);
    expect(night).toMatch(/^Sun, 03:00 GMT-4 {2}nightly-report {2}baseline-cron$/m); // 02:30 did not exist
    expect(night).toMatch(/^Sun, 04:00 GMT-4 {2}inbox {11}baseline-cron$/m);
    expect(night).toMatch(/^Sun, 03:02 GMT-4 {2}flaky-sync {6}baseline-interval, after 2 failed in a row$/m);
    expect(night).toContain("15 hours took no time at all.");
  });

  it("directory-work takes work from a directory by a command, the most urgent first", async () => {
    expect((await printedBy(join(root, "examples/directory-work.js"))).split("\n")).toEqual([
      "Fix the login: completed, did: Fix the login",
      "Solve the riddle: failed, The command exited with code 1.",
      "Mend a typo: completed, did: Mend a typo",
      "ready/ ",
      "done/ login.md login.md.outcome.yaml typo.md typo.md.outcome.yaml",
      "failed/ riddle.md riddle.md.outcome.yaml",
    ]);
  });
});

describe("the programs in the documentation", () => {
  it.each([
    ["README.md", "reader completed did: Read the news.\n"],
    ["docs/scheduler.md", "reader completed morning: Write the report.\n"],
    ["docs/schedules.md", "\n"],
    ["docs/plans.md", "\n"],
    ["docs/state.md", "idle 2026-03-01T12:00:00Z\ncompleted read 12 pages\n"],
    ["docs/fake-clock.md", "00:00 00:10 00:20\n00:00 00:15 00:30\n"],
    ["docs/running-jobs.md", "completed done: say hello\nYou said: hello\n"],
    ["docs/work-sources.md", "login.md,login.md.outcome.yaml\nFeed the cat working\ndone\n"],
    ["docs/architecture.md", ""],
  ])("of %s work when pasted", async (name, printed) => {
    expect(await printedByDocument(name)).toBe(printed);
  });

  it("are all known here", () => {
    expect(readdirSync(join(root, "docs")).toSorted()).toEqual([
      "architecture.md",
      "cli.md",
      "fake-clock.md",
      "plans.md",
      "running-jobs.md",
      "scheduler.md",
      "schedules.md",
      "state.md",
      "work-sources.md",
    ]);
  });
});
