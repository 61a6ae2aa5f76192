import { execFile } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { COMMANDS } from "../../../src/cli/commands.js";
import { updateScheduleState } from "../../../src/state/file/state-functions.js";
import { Scene } from "../scene.js";
import { MAIN, NOW, rota, Terminal } from "../terminal.js";

const hasBash = existsSync("/bin/bash");

/** What bash offers for a line that ends where Tab was pressed. */
function offeredByBash(scene: Scene, words: readonly string[]): Promise<string[]> {
  const bin = join(scene.cwd, "bin");
  if (!existsSync(bin)) {
    mkdirSync(bin);
    symlinkSync(process.execPath, join(bin, "node"));
    writeFileSync(join(bin, "rota"), `#!/bin/sh\nexec "${process.execPath}" "${MAIN}" "$@"\n`);
    chmodSync(join(bin, "rota"), 0o755);
  }
  const program = `
    eval "$(rota completion bash)"
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
    _rota
    printf '%s\\n' "\${COMPREPLY[@]}"
  `;
  const env = { PATH: `${bin}:/usr/bin:/bin` };
  return new Promise((resolve, reject) => {
    const args = ["--norc", "-c", program, "bash", ...words];
    execFile("/bin/bash", args, { cwd: scene.cwd, env, timeout: 50_000 }, (error, out, complaints) => {
      if (error !== null || complaints !== "") reject(new Error(`bash: ${complaints}`, { cause: error }));
      else resolve(out.split("\n").filter((line) => line !== ""));
    });
  });
}

describe.runIf(hasBash)("bash", () => {
  it.each([
    ["commands", ["rota", "li"], ["list"]],
    ["options of a command", ["rota", "list", "--na"], ["--names"]],
    ["global options", ["rota", "jobs", "--state"], ["--state-dir"]],
    ["the values of an option", ["rota", "jobs", "--status", "comp"], ["completed"]],
    ["the names of schedules", ["rota", "describe", "reports/n"], ["reports/nightly"]],
    ["the names of agents", ["rota", "jobs", "--agent", "in"], ["inbox"]],
    ["files", ["rota", "-c", "rota.y"], ["rota.yaml"]],
    ["shells", ["rota", "completion", "z"], ["zsh"]],
    ["a command although there is a fault in the fleet", ["rota", "-c", "nowhere.yaml", "jo"], ["jobs"]],
  ])("completes %s", async (_, words, offered) => {
    expect(await offeredByBash(new Scene(), words)).toEqual(offered);
  });

  it("completes nothing, and prints no error, when the fleet cannot be read", async () => {
    const scene = new Scene();
    scene.write("agents: 7");
    expect(await offeredByBash(scene, ["rota", "list", ""])).toEqual([]);
  });

  it("completes the ids of jobs", async () => {
    const scene = new Scene();
    const id = await scene.job({}, { status: "completed" });
    expect(await offeredByBash(scene, ["rota", "logs", "job-"])).toEqual([id]);
  });

  it("quotes names, and evaluates none", async () => {
    const scene = new Scene();
    const trap = "$(touch trapped)";

    await updateScheduleState(scene.stateDir, trap, "a b", { last_run_at: NOW });
    const offered = await offeredByBash(scene, ["rota", "list", "$"]);
    expect(offered).toContain(String.raw`\$\(touch\ trapped\)/a\ b`);
    expect(existsSync(join(scene.cwd, "trapped"))).toBe(false);
  });
});

describe("rota completion", () => {
  it.each(["bash", "zsh", "fish"])("names every command and every option for %s", async (shell) => {
    const terminal = new Terminal();
    expect(await terminal.run("completion", shell)).toBe(0);
    for (const { name, options = [] } of COMMANDS) {
      expect(terminal.out).toContain(name);
      for (const option of options) expect(terminal.out).toContain(option.name);
    }
  });

  it("exits with 2 for an unknown shell", async () => {
    const terminal = new Terminal();
    expect(await terminal.run("completion", "cmd")).toBe(2);
    expect(terminal.err).toContain("expected one of bash, zsh, fish");
  });

  it("prints the script as a process", async () => {
    const { exitCode, out } = await rota(["completion", "fish"], new Terminal().cwd);
    expect(exitCode).toBe(0);
    expect(out).toContain("complete -c rota");
  });
});
