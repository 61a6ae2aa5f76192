/** `rota trigger` with a prompt, data and a key. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { describe, expect, it, vi } from "vitest";
import { startScheduler } from "../running-scheduler.js";
import { Scene } from "../scene.js";
import { MAIN } from "../terminal.js";

const ECHO = `
version: 1
agents:
  - name: a
    runtime: command
    command: [node, -e, "process.stdin.on('data', (prompt) => console.log(String(prompt), process.env.ROTA_DATA))"]
    schedules: { x: { type: webhook, prompt: "Answer {{from}}." } }
`;

describe("rota trigger with an order", () => {
  it("passes prompt, data and key to the running scheduler, with its cause", async () => {
    const scene = new Scene({ env: { USER: "ada" } });
    const { call, started } = await startScheduler(scene, () => "done");
    scene.write(`{"n":[1,2]}`, "data.json");
    const args = ["trigger", "inbox/hook", "--prompt", "Read {{n.1}}.", "--data", "data.json", "--key", "k"];
    expect(await call(...args)).toBe(0);
    await vi.waitFor(() =>
      expect(started).toMatchObject([
        { prompt: "Read 2.", data: { n: [1, 2] }, trigger: "manual", cause: "ada: rota trigger" },
      ]),
    );
    expect(await call(...args)).toBe(0);
    expect(scene.lines).toEqual([started[0]?.id]);
    expect(started).toHaveLength(1);
    expect(await call(...args.slice(0, 2), "--prompt", "Other.", "--key", "k")).toBe(1);
    expect(scene.err).toContain("its key was used within 24 hours with a different prompt or different data");
  });

  it("prints the output of the job while it waits", async () => {
    const scene = new Scene();
    const { call } = await startScheduler(scene, async (job) => {
      job.log("step one");
      await scene.clock.sleep("2s");
      job.log("step two");
    });
    expect(await call("trigger", "inbox", "--wait")).toBe(0);
    expect(scene.out).toMatch(/^job-\S+\nstep one\nstep two\n$/);
  });

  it("ends an incomplete line of output on a terminal before it says how the job ended", async () => {
    const scene = new Scene({ columns: 80 });
    const { call } = await startScheduler(scene, (job) => job.write("no line break"));
    expect(await call("trigger", "inbox", "--wait")).toBe(0);
    expect(scene.out).toMatch(/no line break$/);
    expect(scene.err).toMatch(/\njob-\S+ .*completed/);
  });

  it("says that a schedule is switched off in the configuration", async () => {
    const scene = new Scene();
    const { call } = await startScheduler(scene, () => {});
    expect(await call("trigger", "reports/old")).toBe(1);
    expect(scene.err).toContain("reports/old was not started: it is switched off in the configuration");
  });

  it("reports the failure of a job in its own process one time", async () => {
    const scene = new Scene();
    scene.write(ECHO.replace("process.stdin.on", "process.exit(3); process.stdin.on"));
    const child = spawn(process.execPath, [MAIN, "trigger", "a/x"], { cwd: scene.cwd });
    let err = "";
    child.stderr.on("data", (chunk: Buffer) => {
      err += String(chunk);
    });
    expect(await once(child, "close")).toEqual([5, null]);
    expect(err.match(/exited with code 3/g)).toHaveLength(1);
  });

  it.each([
    ["a file that does not exist", ["--data", "none.json"], /Could not read --data none\.json/],
    ["JSON instead of a file", ["--data", '{"n":1}'], /pipe JSON to --data - instead/],
    ["an empty stdin", ["--prompt", "-"], /found nothing on stdin/],
    ["a file that is not JSON", ["--data", "rota.yaml"], /rota\.yaml is not JSON/],
    ["two options that read stdin", ["--prompt", "-", "--data", "-"], /cannot both read stdin/],
    ["a key that is too long", ["--key", "x".repeat(300)], /256 characters/],
  ])("exits with 2 for %s", async (_, args, message) => {
    const scene = new Scene();
    expect(await scene.run("trigger", "inbox/hook", ...args)).toBe(2);
    expect(scene.err).toMatch(message);
  });

  it("reads the prompt from stdin, and prints the output of a job in its own process", async () => {
    const scene = new Scene();
    scene.write(ECHO);
    scene.write(`{"from":"Ada"}`, "mail.json");
    const args = [MAIN, "trigger", "a/x", "--prompt", "-", "--data", "mail.json", "--wait"];
    const child = spawn(process.execPath, args, { cwd: scene.cwd });
    let out = "";
    child.stdout.on("data", (chunk: Buffer) => {
      out += String(chunk);
    });
    child.stdin.end("Write to {{from}}.\n");
    expect(await once(child, "close")).toEqual([0, null]);
    expect(out).toBe(`Write to Ada. {"from":"Ada"}\n`);
  });
});
