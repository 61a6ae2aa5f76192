/** `rota run` as a process: real signals, real time, and the state that it leaves. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { FileStore, type JobRecord } from "../../../src/index.js";
import { until } from "../../state/child.js";
import { stateDirectory } from "../../state/temporary-directory.js";
import { RotaProcess } from "./rota-process.js";
import { ENDLESS, fleetText } from "./run-scene.js";

const HELLO = "console.log('hello')";
/** Runs until there is a file named "go". */
const WAITING = `${ENDLESS} setInterval(() => { if (require("fs").existsSync("go")) process.exit(0); }, 5);`;

interface ProcessScene {
  readonly cwd: string;
  readonly file: string;
  readonly write: (text: string) => void;
  readonly go: () => void;
  readonly run: (...args: string[]) => RotaProcess;
  readonly jobs: () => Promise<readonly JobRecord[]>;
}

function processScene(text: string): ProcessScene {
  const cwd = stateDirectory();
  const file = join(cwd, "rota.yaml");
  const write = (next: string): void => writeFileSync(file, next);
  write(text);
  return {
    cwd,
    file,
    write,
    go: () => writeFileSync(join(cwd, "go"), ""),
    run: (...args) => new RotaProcess(args, cwd),
    jobs: async () => {
      await using store = new FileStore({ stateDir: join(cwd, ".rota") });
      return store.jobs.list();
    },
  };
}

function isLogged(directory: string): boolean {
  const files = existsSync(directory) ? readdirSync(directory) : [];
  return files.some((file) => file.endsWith(".jsonl") && readFileSync(join(directory, file)).length > 0);
}

describe("rota run as a process", () => {
  it("starts a job of its configuration, and ends by itself after SIGTERM", async () => {
    const { run, jobs } = processScene(fleetText({ greeter: { script: HELLO } }));
    const rota = run();
    await rota.heard("completed");
    rota.signal("SIGTERM");
    expect(await rota.end()).toBe(0);
    expect(rota.out).toMatch(/greeter\/work {2}completed {2}\S+ after .+: hello\n/);
    expect(await jobs()).toMatchObject([{ status: "completed", summary: "hello" }]);
  });

  it("waits for a job after SIGTERM, and records its end", async () => {
    const { run, jobs, go } = processScene(fleetText({ slow: { script: WAITING } }));
    const rota = run();
    await rota.heard("started");
    await rota.heard("Running");
    rota.signal("SIGTERM");
    await rota.heard("waiting up to 30s for 1 job");
    go();
    expect(await rota.end()).toBe(0);
    expect(await jobs()).toMatchObject([{ status: "completed", exit_code: 0 }]);
  });

  it("cancels a job that is slower than the stop timeout, and records it", async () => {
    const { run, jobs } = processScene(fleetText({ slow: { script: ENDLESS } }));
    const rota = run("--stop-timeout", "0s");
    await rota.heard("started");
    await rota.heard("Running");
    rota.signal("SIGINT");
    expect(await rota.end()).toBe(1);
    expect(await jobs()).toMatchObject([{ status: "cancelled" }]);
  });

  it.each([
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ] as const)("exits immediately at a second %s, and cancels its job", async (signal, exitCode) => {
    const script = `
      const { writeFileSync } = require("fs");
      process.on("SIGTERM", () => { writeFileSync("told", ""); process.exit(0); });
      setTimeout(() => {}, 50_000);
      writeFileSync("up", "");`;
    const { run, cwd } = processScene(fleetText({ slow: { script } }));
    const rota = run();
    await rota.heard("Running");
    await until(() => existsSync(join(cwd, "up")));
    rota.signal(signal);
    await rota.heard("Stopping");
    rota.signal(signal);
    expect(await rota.end()).toBe(exitCode);
    await until(() => existsSync(join(cwd, "told")));
  });

  it("leaves a state after an immediate exit from which the next run continues", async () => {
    const { cwd, run, jobs, go } = processScene(fleetText({ slow: { script: WAITING } }));
    const first = run();
    await first.heard("Running");
    // The start of a job may be printed before the log has it.
    await until(() => isLogged(join(cwd, ".rota", "jobs")));
    first.signal("SIGINT");
    await first.heard("Stopping");
    first.signal("SIGINT");
    await first.end();
    go();
    const second = run();
    await second.heard("completed");
    second.signal("SIGTERM");
    expect(await second.end()).toBe(0);
    expect((await jobs()).map(({ status }) => status)).toEqual(["completed", "interrupted"]);
  });

  it("reloads its configuration after SIGHUP", async () => {
    const { run, write } = processScene(fleetText({ one: { script: HELLO } }));
    const rota = run("--no-watch");
    await rota.heard("Running");
    write(fleetText({ one: { script: HELLO }, two: { script: HELLO } }));
    rota.signal("SIGHUP");
    await rota.heard("two/work  completed");
    expect(rota.err).toContain("Reloaded rota.yaml: added agent two.\n");
  });

  it("reloads its configuration when the file changes", async () => {
    const { run, write } = processScene(fleetText({ one: { script: HELLO } }));
    const rota = run();
    await rota.heard("Running");
    write(fleetText({ two: { script: HELLO } }));
    await rota.heard("two/work  completed");
    expect(rota.err).toContain("Reloaded rota.yaml: added agent two; removed agent one.\n");
  });

  it("keeps the last valid configuration when the file becomes invalid", async () => {
    const { run, write, file } = processScene(fleetText({ one: { script: HELLO, interval: "1s" } }));
    const rota = run();
    await rota.heard("Running");
    write(`${readFileSync(file, "utf8")}timezon: UTC\n`);
    await rota.heard("Not reloaded");
    const before = rota.out.length;
    await until(() => rota.out.slice(before).includes("one/work  completed"));
    expect(rota.err).toContain('Unknown key "timezon": did you mean "timezone"?');
  });

  it("prints valid JSON, a line for each notice", async () => {
    const { run } = processScene(fleetText({ greeter: { script: HELLO } }));
    const rota = run("--json");
    await rota.heard("job:finished");
    rota.signal("SIGTERM");
    await rota.end();
    const events = rota.out
      .trim()
      .split("\n")
      .map((line) => (JSON.parse(line) as { event: string }).event);
    expect(new Set(events)).toEqual(
      new Set([
        "schedule:planned",
        "scheduler:started",
        "job:started",
        "job:finished",
        "scheduler:stopping",
        "scheduler:stopped",
      ]),
    );
  });

  it("refuses to start when another run owns the state, and leaves that run alone", async () => {
    const { run } = processScene(fleetText({ one: { script: HELLO, interval: "1s" } }));
    const first = run();
    await first.heard("completed");
    const second = run();
    expect(await second.end()).toBe(1);
    expect(second.err).toContain(`process ${first.pid}`);
    expect(second.out).toBe("");
    const before = first.out.length;
    await until(() => first.out.slice(before).includes("completed"));
  });

  it("exits with 2 and prints the problems of an invalid configuration", async () => {
    const rota = processScene("version: 1\nagnets: []\n").run();
    expect(await rota.end()).toBe(2);
    expect(rota.err).toContain('did you mean "agents"?');
  });

  it("stops when the reader of its output is gone", async () => {
    const { run } = processScene(fleetText({ one: { script: HELLO, interval: "1s" } }));
    const rota = run();
    await rota.heard("completed");
    rota.hangUp();
    expect(await rota.end()).toBe(0);
    expect(rota.err).toContain("its output was closed");
  });

  it("exits with 1 when another run took over while it was stopped", async () => {
    const { run } = processScene(fleetText({ one: { script: HELLO } }));
    const first = run();
    await first.heard("completed");
    first.signal("SIGSTOP");
    for (let isOver = false; !isOver;) {
      const second = run();
      // Refused until the first run counts as dead.
      isOver = await second.heard("Running").then(
        () => true,
        () => false,
      );
    }
    first.signal("SIGCONT");
    expect(await first.end()).toBe(1);
    expect(first.err).toContain("was taken over");
  });
});
