import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { FLEET, Scene } from "../scene.js";
import { rota, Terminal } from "../terminal.js";

const MISTAKES = fileURLToPath(new URL("../../config/fixtures/twenty-mistakes.yaml", import.meta.url));

describe("rota validate", () => {
  it("sums a valid configuration up in one line", async () => {
    const scene = new Scene();
    expect(await scene.run("validate")).toBe(0);
    expect(scene.out).toMatch(/rota\.yaml is valid: 2 agents, 3 schedules, 1 switched off\.\n$/);
  });

  it("checks the given file", async () => {
    const terminal = new Terminal();
    const file = terminal.write(FLEET, "fleet.yaml");
    expect(await terminal.run("validate", "fleet.yaml", "--json")).toBe(0);
    const tally = { agents: 2, schedules: 3, switched_off: 1, problems: [] };
    expect(terminal.json).toEqual({
      valid: true,
      file,
      state_dir: terminal.stateDir,
      database: null,
      ...tally,
    });
  });

  it("prints every problem with its position on stderr, and exits with 2", async () => {
    const terminal = new Terminal();
    copyFileSync(MISTAKES, join(terminal.cwd, "rota.yaml"));
    const { exitCode, out, err } = await rota(["validate"], terminal.cwd);
    expect({ exitCode, out }).toEqual({ exitCode: 2, out: "" });
    expect(err).toContain("rota: rota.yaml has 20 problems.");
    expect(err.match(/^rota\.yaml:\d+:\d+ /gm)).toHaveLength(20);
  });

  it("prints all problems, however many", async () => {
    const terminal = new Terminal();
    const wrong = (index: number): string =>
      `  - { name: a${index}, schedules: { s: { type: interval, interval: 5x } } }`;
    terminal.write(
      `version: 1\nagents:\n${Array.from({ length: 80 }, (_, index) => wrong(index)).join("\n")}\n`,
    );
    expect(await terminal.run("validate")).toBe(2);
    expect(terminal.err.match(/^.*rota\.yaml:\d+:\d+ /gm)?.length).toBeGreaterThanOrEqual(80);
  });

  it("refuses agents that nothing can run, and so does rota run", async () => {
    const terminal = new Terminal();
    const schedules = "schedules: { s: { type: interval, interval: 5m } }";
    terminal.write(
      `version: 1\nagents:\n  - { name: a, ${schedules} }\n  - { name: b, runtime: messages, ${schedules} }\n` +
        `  - { name: c, runtime: function, ${schedules} }\n  - { name: d }\n`,
    );
    for (const command of ["validate", "run"]) {
      expect(await terminal.run(command)).toBe(2);
      expect(terminal.err).toContain("rota.yaml has 3 problems");
      expect(terminal.err).toMatch(/rota\.yaml:3:5 .*\n {2}Nothing can run the jobs of this agent/);
      expect(terminal.err).toContain("The messages runtime needs an sdkQuery");
      expect(terminal.err).toContain("The function runtime needs a run function");
    }
  });

  it("prints the problems as JSON", async () => {
    const terminal = new Terminal();
    copyFileSync(MISTAKES, join(terminal.cwd, "rota.yaml"));
    expect(await terminal.run("validate", "--json")).toBe(2);
    const { valid, problems } = terminal.json as { valid: boolean; problems: { line: number }[] };
    expect(valid).toBe(false);
    expect(problems).toHaveLength(20);
    expect(problems[0]).toMatchObject({
      line: expect.any(Number) as number,
      message: expect.any(String) as string,
    });
  });

  it.each([
    ["there is no configuration", []],
    ["the named one is not there", ["nowhere.yaml"]],
  ])("exits with 2 when %s", async (_, args) => {
    const terminal = new Terminal();
    expect(await terminal.run("validate", ...args)).toBe(2);
    expect(terminal.err).toMatch(/^rota: /);
  });
});
