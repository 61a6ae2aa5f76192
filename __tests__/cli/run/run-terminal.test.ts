/** `rota run` on a pseudo-terminal: what a person sees of the live view. */
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { stateDirectory } from "../../state/temporary-directory.js";
import { RotaTerminal, type RotaTerminalOptions } from "./rota-terminal.js";
import { ENDLESS, fleetText } from "./run-scene.js";

const HELLO = "console.log('hello')";
/** What begins a style. */
const STYLE = "\u001b[";
const CTRL_C = "\u0003";

interface Shell {
  readonly cwd: string;
  readonly write: (text: string) => void;
  readonly run: (args?: readonly string[], options?: RotaTerminalOptions) => RotaTerminal;
}

function shell(text: string): Shell {
  const cwd = stateDirectory();
  const write = (next: string): void => writeFileSync(join(cwd, "rota.yaml"), next);
  write(text);
  return { cwd, write, run: (args = [], options = {}) => new RotaTerminal(args, cwd, options) };
}

const has =
  (...texts: string[]) =>
  (lines: readonly string[]): boolean =>
    texts.every((text) => lines.some((line) => line.includes(text)));
const rowOf = ({ screen }: RotaTerminal, name: string): string =>
  screen.lines.find((line) => line.startsWith(`${name} `)) ?? "";

/** For how many seconds a schedule has been running, as the table says; on a slow machine some are never shown. */
function secondsOf(rota: RotaTerminal, name: string): number {
  return Number(/ running (\d+)s /.exec(rowOf(rota, name))?.[1] ?? -1);
}

/** Resolves when the table says that it has been running for so long. */
async function runs(rota: RotaTerminal, name: string, seconds = 0): Promise<void> {
  await rota.shows(() => secondsOf(rota, name) >= seconds);
}

describe("rota run on a terminal", () => {
  it("shows a table of schedules with running jobs and their durations", async () => {
    const rota = shell(fleetText({ slow: { script: ENDLESS }, quick: { script: HELLO } })).run();
    await runs(rota, "slow/work", 1);
    await rota.shows(() => rowOf(rota, "quick/work").includes("completed"));
    expect(rowOf(rota, "slow/work")).toMatch(/^slow\/work +[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] running \d+s +- +- +- +job-/);
    expect(rowOf(rota, "quick/work")).toMatch(
      /^quick\/work +idle +.*\d\d:\d\d:\d\d +(?:59m|1h) +completed .* every 1h$/,
    );
    expect(rota.screen.lines.at(-1)).toMatch(
      /^2 schedules: 1 running \| jobs: 1 done, 0 failed \| up \d+s \| \.rota$/,
    );
  });

  it("updates the table in place, and nothing scrolls away", async () => {
    const rota = shell(fleetText({ slow: { script: ENDLESS } })).run();
    await runs(rota, "slow/work");
    const before = rota.screen.lines.length;
    await runs(rota, "slow/work", 3);
    const { screen } = rota;
    expect(screen.frames).toBeGreaterThan(3);
    expect(screen.lines.filter((line) => line.startsWith("AGENT/SCHEDULE"))).toHaveLength(1);
    expect(screen.lines).toHaveLength(before);
    expect(screen.scrolledAway).toEqual([]);
    expect(screen.isCursorShown).toBe(false);
  });

  it("draws at most eight frames in a second", async () => {
    const rota = shell(fleetText({ slow: { script: ENDLESS } })).run();
    await runs(rota, "slow/work");
    const [frames, seconds] = [rota.screen.frames, secondsOf(rota, "slow/work")];
    await runs(rota, "slow/work", seconds + 3);
    // One more for where in a second it began.
    const most = 8 * (secondsOf(rota, "slow/work") - seconds + 1);
    expect(rota.screen.frames - frames).toBeLessThanOrEqual(most);
  });

  it("prints ended jobs and messages above the table", async () => {
    const { run } = shell(fleetText({ bad: { script: "process.exit(3)" }, slow: { script: ENDLESS } }));
    const rota = run();
    await rota.shows(has("bad/work  failed  job-"));
    const titles = rota.screen.lines.findIndex((line) => line.startsWith("AGENT/SCHEDULE"));
    const ended = rota.screen.lines.findIndex((line) => line.includes("bad/work  failed  job-"));
    const said = rota.screen.lines.findIndex((line) => line.startsWith("Running 2 agents"));
    expect([said, ended].every((line) => line >= 0 && line < titles)).toBe(true);
  });

  it("keeps every line above the table, on a small terminal too", async () => {
    const { run } = shell(fleetText({ often: { script: HELLO, interval: "1s" } }));
    const rota = run([], { rows: 8 });
    const doneOf = (line = ""): number => Number(/jobs: (\d+) done/.exec(line)?.[1] ?? 0);
    await rota.shows((lines) => doneOf(lines.at(-1)) >= 6);
    const { screen } = rota;
    const ended = screen.everything.match(/often\/work {2}completed {2}job-/g) ?? [];
    expect(ended.length).toBe(doneOf(screen.lines.at(-1)));
    expect(screen.everything.match(/AGENT\/SCHEDULE/g)).toHaveLength(1);
    expect(screen.scrolledAway.length).toBeGreaterThan(0);
  });

  it("fits the table to the terminal's height, and prints how many schedules are hidden", async () => {
    const agents = Object.fromEntries(
      Array.from({ length: 30 }, (_, index) => [`agent${index}`, { script: HELLO }]),
    );
    const rota = shell(fleetText({ slow: { script: ENDLESS }, ...agents })).run([], { rows: 10 });
    await rota.shows(has("31 schedules", "… and 26 more", "slow/work"));
    expect(rota.screen.lines.length).toBeLessThanOrEqual(10);
  });

  it("fits the table to a resized terminal", async () => {
    // Where nothing runs the next frame is a second away: none is drawn for the old size while that changes.
    const rota = shell(fleetText({ quick: { script: HELLO } })).run([], { columns: 120 });
    const titles = (isWide: boolean) => (lines: readonly string[]) =>
      lines.some((line) => line.startsWith("AGENT/") && line.includes("NEXT") === isWide);
    await rota.shows(() => / completed \d+s ago /.test(rowOf(rota, "quick/work")));
    rota.resize(60, 12);
    await rota.shows(titles(false));
    expect(rota.screen.everything.match(/AGENT\//g)).toHaveLength(1);
    rota.resize(120, 30);
    await rota.shows(titles(true));
    expect(rota.screen.everything.match(/AGENT\//g)).toHaveLength(1);
  });

  it("stops at Ctrl-C: erases the table, restores the cursor, and keeps the printed lines", async () => {
    const rota = shell(fleetText({ quick: { script: HELLO } })).run();
    await rota.shows(has("quick/work  completed"));
    rota.type(CTRL_C);
    expect(await rota.end()).toBe(0);
    const { screen } = rota;
    expect(screen.isCursorShown).toBe(true);
    expect(screen.everything).not.toContain("AGENT/SCHEDULE");
    expect(screen.lines.map((line) => line.replace(/\d+s:|job-\S+.*/, "…"))).toEqual([
      "Running 1 agent with 1 schedule from rota.yaml, state in .rota. Ctrl-C stops.",
      expect.stringMatching(/quick\/work {2}completed {2}…$/),
      expect.stringContaining("Stopping after SIGINT: no job is running."),
      expect.stringMatching(/^Stopped after .+ 1 job done, 0 failed\.$/),
    ]);
    expect(screen.cursor).toEqual({ row: 4, column: 0 });
  });

  it("prints what a stop waits for, and restores the cursor at a second Ctrl-C", async () => {
    const rota = shell(fleetText({ slow: { script: ENDLESS } })).run();
    await runs(rota, "slow/work");
    rota.type(CTRL_C);
    await rota.shows(
      has("Stopping: 1 running, to be cancelled in", "waiting up to 30s for 1 job: slow/work (job-"),
    );
    rota.type(CTRL_C);
    expect(await rota.end()).toBe(130);
    expect(rota.screen.isCursorShown).toBe(true);
    expect(rota.screen.everything).not.toContain("AGENT/SCHEDULE");
    expect(rota.screen.lines.at(-1)).toContain("Exiting immediately: cancelled 1 job.");
  });

  it("restores the cursor after a crash", async () => {
    const broken = `data:text/javascript,process.on("SIGUSR2",()=>{throw new Error("broken")})`;
    const rota = shell(fleetText({ slow: { script: ENDLESS } })).run([], {
      env: { NODE_OPTIONS: `--import=${broken.replaceAll('"', "%22").replaceAll(" ", "%20")}` },
    });
    await runs(rota, "slow/work");
    process.kill(rota.pid, "SIGUSR2");
    expect(await rota.end()).not.toBe(0);
    expect(rota.screen.isCursorShown).toBe(true);
  });

  it("stops and releases its state when the terminal is closed", async () => {
    const { cwd, run } = shell(fleetText({ quick: { script: HELLO } }));
    const rota = run();
    await rota.shows(has("quick/work  completed"));
    rota.close();
    await rota.end();
    expect(readdirSync(join(cwd, ".rota", "owner.lock"))).toEqual([]);
  });

  it("prints problems of a changed configuration above the table, and continues", async () => {
    const { run, write } = shell(fleetText({ slow: { script: ENDLESS } }));
    const rota = run();
    await runs(rota, "slow/work");
    write(`${fleetText({ slow: { script: ENDLESS } })}timezon: UTC\n`);
    await rota.shows(has("Not reloaded", 'Unknown key "timezon": did you mean "timezone"?', "| ^^^^^^^"));
    expect(rowOf(rota, "slow/work")).toContain("running");
  });

  it("has colours unless NO_COLOR is set", async () => {
    const { run } = shell(fleetText({ quick: { script: HELLO } }));
    const painted = run();
    await painted.shows(has("completed"));
    painted.type(CTRL_C);
    await painted.end();
    const unpainted = run([], { env: { NO_COLOR: "1" } });
    await unpainted.shows(has("idle"));
    expect(painted.chunks.join("")).toContain(`${STYLE}32mcompleted`);
    for (const style of [1, 2, 31, 32, 33, 36])
      expect(unpainted.chunks.join("")).not.toContain(`${STYLE}${style}m`);
  });

  it.each([["--no-live"], ["--quiet"], ["--json"]])("has no live view with %s", async (flag) => {
    const rota = shell(fleetText({ bad: { script: "process.exit(3)" } })).run([flag]);
    await rota.shows(has("failed"));
    rota.type(CTRL_C);
    await rota.end();
    expect(rota.screen.frames).toBe(0);
    expect(rota.chunks.join("")).not.toContain("\u001b[?25l");
  });

  it("has no live view on a terminal that cannot move its cursor", async () => {
    const rota = shell(fleetText({ quick: { script: HELLO } })).run([], { env: { TERM: "dumb" } });
    await rota.shows(has("quick/work  completed"));
    expect(rota.screen.frames).toBe(0);
  });
});
