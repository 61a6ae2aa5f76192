import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../src/clock.js";
import { stateDirectory } from "../state/temporary-directory.js";
import { FakeGitHub, REPO, TOKEN } from "../work-sources/github/fake-github.js";
import { type Ended, runNode, type RunOptions } from "./run-node.js";

const folder = fileURLToPath(new URL("../../examples/", import.meta.url));

function example(name: string, options: Partial<RunOptions> = {}): Promise<Ended> {
  return runNode([join(folder, name)], { cwd: stateDirectory(), ...options });
}

interface ExampleOptions extends Partial<RunOptions> {
  /** What its log has on stderr for each failed job, without the ids of jobs. */
  readonly failures?: readonly string[];
}

/** The output of an example, which must exit with 0 and write nothing to stderr but its failed jobs. */
async function printedBy(
  name: string,
  { failures = [], ...options }: ExampleOptions = {},
): Promise<readonly string[]> {
  const { exitCode, out, err } = await example(name, options);
  expect({ name, exitCode, err: failuresIn(err) }).toEqual({ name, exitCode: 0, err: failures });
  return out.trimEnd().split("\n");
}

const failuresIn = (err: string): readonly string[] =>
  err
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => line.replace(/ \(job-[\w-]+\)/, ""));

const RIDDLE = "worker/inbox failed: The command exited with code 1: Error: too hard";

describe("the examples", () => {
  it("are all listed in this test", () => {
    expect(readdirSync(folder).toSorted()).toEqual([
      "agent-sdk.js",
      "clock-change-night.js",
      "cron-zones.js",
      "embed.js",
      "fleet",
      "github-issues.js",
      "http-hints.js",
      "testing.test.js",
      "work-queue.js",
    ]);
  });

  it("embed is 15 lines at most, and the program that the README shows", async () => {
    const program = readFileSync(join(folder, "embed.js"), "utf8");
    expect(program.trimEnd().split("\n").length).toBeLessThanOrEqual(15);
    expect(readFileSync(join(folder, "../README.md"), "utf8")).toContain(`\`\`\`js\n${program}\`\`\``);
    const printed = await printedBy("embed.js");
    expect(printed).toEqual([
      "Scheduler started with 1 agent.",
      "reader completed did: Read the news.",
      "Scheduler stopped.",
    ]);
    expect(readFileSync(join(folder, "../README.md"), "utf8")).toContain(
      `\`\`\`text\n${printed.join("\n")}\n\`\`\``,
    );
  });

  it("cron-zones runs each office at nine local time, before and after the clocks change", async () => {
    expect(await printedBy("cron-zones.js")).toEqual([
      "2026-10-23T00:00:00.000Z good morning, tokyo",
      "2026-10-23T08:00:00.000Z good morning, london",
      "2026-10-23T13:00:00.000Z good morning, new york",
      "2026-10-26T00:00:00.000Z good morning, tokyo",
      "2026-10-26T09:00:00.000Z good morning, london",
      "2026-10-26T13:00:00.000Z good morning, new york",
      "London is next at 2026-10-27T09:00:00.000Z",
    ]);
  });

  it("clock-change-night runs each schedule at its time and prints the reason", async () => {
    const night = (
      await printedBy("clock-change-night.js", {
        failures: Array.from({ length: 4 }, () => "flaky-sync/sync failed: no answer"),
      })
    ).join("\n");
    expect(night).toMatch(/^Sat, 20:00 GMT-5 {2}crawler {9}first-run$/m);
    expect(night).toMatch(/^Sat, 21:00 GMT-5 {2}inbox {11}ai-interval$/m);
    expect(night).toMatch(/^Sun, 03:00 GMT-4 {2}nightly-report {2}baseline-cron$/m); // 02:30 did not exist
    expect(night).toMatch(/^Sun, 04:00 GMT-4 {2}inbox {11}baseline-cron$/m);
    expect(night).toMatch(/^Sun, 03:02 GMT-4 {2}flaky-sync {6}baseline-interval, after 2 failed in a row$/m);
    expect(night).toContain("15 hours took no time at all.");
  });

  it("work-queue takes work from a directory by a command, the most urgent first", async () => {
    expect(await printedBy("work-queue.js", { failures: [RIDDLE] })).toEqual([
      "Fix the login: completed, did: Fix the login",
      "Solve the riddle: failed, The command exited with code 1: Error: too hard",
      "Mend a typo: completed, did: Mend a typo",
      "ready/ ",
      "done/ login.md login.md.outcome.yaml typo.md typo.md.outcome.yaml",
      "failed/ riddle.md riddle.md.outcome.yaml",
    ]);
  });

  it("agent-sdk makes a result its summary, an error a failure, and every message a line", async () => {
    const [hourly, daily, ...output] = await printedBy("agent-sdk.js", {
      failures: ["reviewer/daily failed: I gave up."],
    });
    expect(hourly).toBe("hourly completed Reviewed: the open changes");
    expect(daily).toBe("daily failed I gave up.");
    expect(output.map((line) => (JSON.parse(line) as { type: string }).type)).toEqual([
      "system",
      "assistant",
      "result",
    ]);
  });

  it("http-hints asks again in a second while there is work, and then by its schedule", async () => {
    expect(await printedBy("http-hints.js")).toEqual([
      "2 waiting [first-run]",
      "1 waiting [ai-interval]",
      "0 waiting [ai-interval]",
      "next by baseline-interval",
    ]);
  });

  it("testing passes as a test", async () => {
    const { exitCode, out } = await runNode(["--test", join(folder, "testing.test.js")], {
      cwd: stateDirectory(),
    });
    expect(exitCode).toBe(0);
    expect(out).toMatch(/pass 2$/m);
  });
});

describe("github-issues", () => {
  it("comments on and closes the issues that are ready", async () => {
    await using github = await FakeGitHub.start({ clock: systemClock });
    github.addIssue({ title: "The gate squeaks" });
    github.addIssue({ title: "Not ready", labels: [] });
    const env = { GITHUB_TOKEN: TOKEN, GITHUB_REPOSITORY: REPO, GITHUB_API_URL: github.baseUrl };
    expect(await printedBy("github-issues.js", { env })).toEqual([
      expect.stringMatching(
        /^The gate squeaks: completed, I read \d+ characters about "The gate squeaks"\.$/,
      ),
    ]);
    expect([...github.issues.values()].map(({ state }) => state)).toEqual(["closed", "open"]);
  });

  it("names the environment variables that it needs", async () => {
    const { exitCode, err } = await example("github-issues.js", {
      env: { GITHUB_TOKEN: "", GITHUB_REPOSITORY: "" },
    });
    expect(exitCode).toBe(1);
    expect(err).toMatch(/^Set GITHUB_TOKEN, and GITHUB_REPOSITORY/);
  });
});

describe("the example fleet", () => {
  const index = "fleet/index.js";

  it("is the program that npm start runs", () => {
    const { scripts } = JSON.parse(readFileSync(join(folder, "../package.json"), "utf8")) as {
      scripts: Record<string, string>;
    };
    expect(scripts["start"]).toBe(`node examples/${index}`);
  });

  it("shows jobs of a command, a function and a directory, and exits without a signal", async () => {
    const lines = (await printedBy(index, { env: { FLEET_DIR: stateDirectory() }, failures: [RIDDLE] })).join(
      "\n",
    );
    expect(lines).toMatch(/greeter {2}completed hello, I was told: Say hello\. \[first-run\]$/m);
    expect(lines).toMatch(/counter {2}completed counted to 3 \[/);
    const worked = Array.from(lines.matchAll(/worker {3}(.*) \[/g), ([, what]) => what);
    expect(worked).toEqual([
      "completed did: Fix the login",
      "failed    The command exited with code 1: Error: too hard",
      "completed did: Mend a typo",
    ]);
  });

  it("runs with --stay until Ctrl-C, and then exits with 0", async () => {
    let isTold = false;
    const { exitCode, out, err } = await runNode([join(folder, index), "--stay"], {
      cwd: stateDirectory(),
      env: { FLEET_DIR: stateDirectory() },
      onOutput: (text, child) => {
        if (!isTold && text.includes("no work")) isTold = child.kill("SIGINT");
      },
    });
    expect({ exitCode, err: failuresIn(err) }).toEqual({ exitCode: 0, err: [RIDDLE] });
    expect(out).toContain("Ctrl-C ends it.");
  });
});
