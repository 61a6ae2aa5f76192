import { chmodSync, mkdirSync, readFileSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { judgeOwner } from "../../../src/cli/doctor/state-content.js";
import { formatBytes, judgeRoom } from "../../../src/cli/doctor/state-directory.js";
import { checkProcesses, judgeNode } from "../../../src/cli/doctor/environment.js";
import { thisProcess } from "../../../src/state/file/lock/process-identity.js";
import { until } from "../../state/child.js";
import { forge } from "../../state/file/lock/lock-fixtures.js";
import { runDoctor } from "../run-doctor.js";
import { Scene } from "../scene.js";
import { NOW, rota, Terminal } from "../terminal.js";

/** The findings about a topic, each with its mark. */
function about({ lines }: Terminal, what: string): string[] {
  return lines.filter((line) => line.slice(2).startsWith(what)).map((line) => `${line[0]} ${line.slice(19)}`);
}

async function healthy(): Promise<Scene> {
  const scene = new Scene();
  await scene.state("reports/hourly", { last_run_at: NOW });
  return scene;
}

describe("rota doctor", () => {
  it("finds no problem in a healthy fleet", async () => {
    const scene = await healthy();
    expect(await runDoctor(scene)).toBe(0);
    // The free space of this machine does not matter here.
    const lines = scene.lines.filter((line) => !line.includes("free space"));
    expect(lines.every((line) => line.startsWith("✓ "))).toBe(true);
    expect(about(scene, "state file")).toEqual([expect.stringMatching(/^✓ \d+ bytes, 1 schedule$/)]);
    expect(about(scene, "scheduler")).toEqual(["✓ not running"]);
    expect(about(scene, "jobs")).toEqual(["✓ 0 bytes in 0 days"]);
  });

  it("accepts a missing state before the first run, and creates none", async () => {
    const scene = new Scene();
    expect(await runDoctor(scene)).toBe(0);
    expect(about(scene, "state directory")).toEqual([expect.stringContaining("does not exist yet")]);
  });

  it("reports an invalid configuration, and still checks the state", async () => {
    const scene = await healthy();
    scene.write("agents: 7");
    expect(await runDoctor(scene, "--state-dir", ".rota")).toBe(1);
    expect(about(scene, "configuration")).toEqual([expect.stringMatching(/^✗ .*see `rota validate`$/)]);
    expect(about(scene, "state file")).toHaveLength(1);
  });

  it("reports a missing configuration", async () => {
    const terminal = new Terminal();
    expect(await runDoctor(terminal)).toBe(0);
    expect(about(terminal, "configuration")).toEqual([expect.stringMatching(/^! There is no rota\.yaml/)]);
  });

  it("fails for a missing state directory", async () => {
    const terminal = new Terminal();
    expect(await runDoctor(terminal, "--state-dir", "nowhere")).toBe(1);
  });

  it("fails when the state directory is a file", async () => {
    const scene = new Scene();
    writeFileSync(scene.stateDir, "");
    expect(await runDoctor(scene)).toBe(1);
    expect(about(scene, "state directory")).toEqual([expect.stringMatching(/^✗ .* is not a directory/)]);
  });

  it("warns of a state directory that other users can read", async () => {
    const scene = await healthy();
    chmodSync(scene.stateDir, 0o755);
    expect(await runDoctor(scene)).toBe(0);
    expect(about(scene, "state directory")).toEqual([expect.stringMatching(/^! .*mode 755/)]);
  });

  it("fails for a damaged state file, and leaves it unchanged", async () => {
    const scene = await healthy();
    const file = join(scene.stateDir, "state.yaml");
    writeFileSync(file, "agents: [");
    expect(await runDoctor(scene)).toBe(1);
    expect(about(scene, "state file")[0]).toMatch(/^✗ /);
    expect(readFileSync(file, "utf8")).toBe("agents: [");
  });

  it("warns of damaged state files that were kept", async () => {
    const scene = await healthy();
    writeFileSync(join(scene.stateDir, "state.yaml.corrupt-2026-02-01T00-00-00-000Z"), "");
    await runDoctor(scene);
    expect(about(scene, "damaged files")).toEqual([expect.stringContaining("a damaged state file was kept")]);
  });

  it("checks that the programs of commands exist and may be executed", async () => {
    const scene = await healthy();
    const agent = (name: string, command: string): string =>
      `  - { name: ${name}, runtime: command, command: [${command}], schedules: { x: { type: webhook } } }\n`;
    scene.write(`version: 1\nagents:\n${agent("a", process.execPath)}${agent("b", "node")}`);
    expect(await runDoctor(scene)).toBe(0);
    expect(about(scene, "programs")).toEqual(["✓ 2 commands found"]);
    const script = scene.write("#!/bin/sh\n", "run.sh");
    scene.write(
      `version: 1\nagents:\n${agent("a", "no-such-program")}${agent("b", "./none.sh")}${agent("c", script)}`,
    );
    expect(await runDoctor(scene)).toBe(1);
    expect(about(scene, "programs")).toEqual([
      '✗ agent a: the program "no-such-program" was not found: it is in no directory of PATH',
      `✗ agent b: the program "./none.sh" was not found: there is no "${join(scene.cwd, "none.sh")}"`,
      `✗ agent c: "${script}" may not be executed: \`chmod +x ${script}\` allows it`,
    ]);
  });

  it("fails when a scheduler is gone that was not stopped", async () => {
    const scene = await healthy();
    forge(join(scene.stateDir, "owner.lock"), { started: "1" });
    expect(await runDoctor(scene)).toBe(1);
    expect(about(scene, "scheduler")).toEqual([expect.stringMatching(/^✗ process \d+ on unknown is gone/)]);
  });

  it("warns of a write lock that is held for long", async () => {
    const scene = new Scene();
    mkdirSync(scene.stateDir, { mode: 0o700 });
    const file = forge(join(scene.stateDir, "state.yaml.lock"), {});
    const longAgo = new Date(scene.clock.now().getTime() - 60_000);
    utimesSync(file, longAgo, longAgo);
    await runDoctor(scene);
    expect(about(scene, "write lock")).toEqual([expect.stringContaining("held for 1m")]);
  });

  it("warns of jobs whose process died while they ran", async () => {
    const scene = await healthy();
    await scene.job({ started_at: NOW });
    const { pid, started, machine } = thisProcess();
    const day = join(scene.stateDir, "jobs/2026-03-01.jsonl");
    const text = readFileSync(day, "utf8").replaceAll(`${pid}-${started}-${machine}`, `${pid}-1-${machine}`);
    writeFileSync(day, text);
    await runDoctor(scene);
    expect(about(scene, "jobs")[1]).toMatch(/^! 1 left running/);
    expect(statSync(day).size).toBe(Buffer.byteLength(text));
  });

  it("warns of schedules that ran at a time in the future", async () => {
    const scene = new Scene();
    await scene.state("reports/hourly", { last_run_at: "2026-03-01T13:00:00Z" });
    await runDoctor(scene);
    expect(about(scene, "state file")[1]).toMatch(/^! .*the clock was set back$/);
  });

  it("warns of a clock that jumps", async () => {
    const scene = new Scene();
    const running = scene.run("doctor");
    await until(() => scene.clock.sleeping > 0);
    scene.clock.jump("1h");
    await scene.clock.advance(100);
    await running;
    expect(about(scene, "clock")).toEqual([expect.stringMatching(/^! jumped by 3600000 ms/)]);
  });

  it("fails for a clock that was never set", async () => {
    const scene = new Scene();
    scene.clock.jumpTo(0);
    expect(await runDoctor(scene)).toBe(1);
    expect(about(scene, "clock")).toEqual([expect.stringMatching(/^✗ 1970\S+ is too early/)]);
  });

  it("prints its findings as JSON, as a process", async () => {
    const scene = new Scene();
    mkdirSync(scene.stateDir, { mode: 0o700 });
    const { exitCode, out } = await rota(["doctor", "--json"], scene.cwd);
    expect(exitCode).toBe(0);
    expect(JSON.parse(out)).toContainEqual({ about: "Node", verdict: "ok", message: process.versions.node });
  });
});

describe("rota doctor's verdict", () => {
  it.each([
    ["20.18.3", "failure"],
    ["18.20.0", "failure"],
    ["20.19.0", "ok"],
    ["24.0.1", "ok"],
  ])("on Node %s is %s", (version, verdict) => {
    expect(judgeNode(version).verdict).toBe(verdict);
  });

  it.each([
    [true, "ok"],
    [false, "warning"],
  ])("says how well processes are known where /proc exists: %s", (hasProc, verdict) => {
    expect(checkProcesses(hasProc)).toMatchObject({ about: "processes", verdict });
  });

  it.each([
    [1_000_000_000, true, "ok"],
    [50_000_000, true, "warning"],
    [1_000_000, true, "failure"],
    [1_000_000_000, false, "failure"],
  ])("on a disk with %i free bytes and free inodes: %s, is %s", (freeBytes, hasNames, verdict) => {
    expect(judgeRoom({ freeBytes, hasNames }).verdict).toBe(verdict);
  });

  it.each([
    ["just now", 0, "ok"],
    ["a minute ago", 60_000, "warning"],
    ["in two minutes", -120_000, "warning"],
  ])("on a live owner last seen %s depends on that time", (_, silentMs, verdict) => {
    const now = new Date(NOW);
    const owner = {
      pid: 1,
      host: "here",
      since: now,
      seenAt: new Date(now.getTime() - silentMs),
      isAlive: true,
    };
    expect(judgeOwner(owner, now).verdict).toBe(verdict);
  });

  it.each([
    [0, "0 bytes"],
    [1_500, "1.5 kB"],
    [12_345_678, "12 MB"],
    [3e15, "3000 TB"],
  ])("formats %i bytes as %s", (bytes, shown) => {
    expect(formatBytes(bytes)).toBe(shown);
  });
});
