import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { loadConfig } from "../../../src/config/load-config.js";
import { Scheduler } from "../../../src/scheduler/scheduler.js";
import { rota, Terminal } from "../terminal.js";

describe("rota init", () => {
  it("writes a valid configuration, as a process", async () => {
    const { cwd } = new Terminal();
    expect(await rota(["init"], cwd)).toMatchObject({ exitCode: 0, out: `${join(cwd, "rota.yaml")}\n` });
    const validated = await rota(["validate"], cwd);
    expect(validated.out).toBe("rota.yaml is valid: 1 agent, 1 schedule, 1 switched off.\n");
  });

  it("writes a configuration that runs unchanged", async () => {
    const terminal = new Terminal();
    await terminal.run("init");
    const { agents, ...options } = await loadConfig(join(terminal.cwd, "rota.yaml"));
    const scheduler = new Scheduler({ ...options, logger: { info() {}, warn() {}, error() {} } });
    const ended = new Promise((resolve) => scheduler.on("job:finished", ({ job }) => resolve(job)));
    await scheduler.start(agents);
    try {
      expect(await ended).toMatchObject({ status: "completed", summary: "Hello, world" });
    } finally {
      await scheduler.stop();
    }
  });

  it("creates the given directory", async () => {
    const terminal = new Terminal();
    expect(await terminal.run("init", "fleets/one", "--json")).toBe(0);
    expect(terminal.json).toEqual({ file: join(terminal.cwd, "fleets/one/rota.yaml") });
    expect(existsSync(join(terminal.cwd, "fleets/one/rota.yaml"))).toBe(true);
  });

  it("refuses to overwrite a file, and names the remedy", async () => {
    const terminal = new Terminal();
    const file = terminal.write("mine");
    expect(await terminal.run("init")).toBe(1);
    expect(readFileSync(file, "utf8")).toBe("mine");
    expect(terminal.err).toContain("--force");
  });

  it("overwrites a file with --force", async () => {
    const terminal = new Terminal();
    const file = terminal.write("mine");
    expect(await terminal.run("init", "--force")).toBe(0);
    expect(readFileSync(file, "utf8")).toMatch(/^# What Rota runs/);
  });

  it("reports why it cannot write", async () => {
    const terminal = new Terminal();
    writeFileSync(join(terminal.cwd, "file"), "");
    expect(await terminal.run("init", "file")).toBe(1);
    expect(terminal.err).toMatch(/^rota: Could not write /);
  });
});
