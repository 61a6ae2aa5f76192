/** Commands, as real processes: how they are started, what they see, and what is said of one that fails. */
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { stateDirectory } from "../../state/temporary-directory.js";
import { node, run, scene } from "./command-scene.js";

const echoInput = `process.stdin.pipe(process.stdout)`;

const SLOT = "2026-03-01T03:00:00.000Z";

describe("a command job", () => {
  it("has its last line as summary, its exit code, and its whole stdout as output", async () => {
    const { result, record, output } = await run(node(`console.log("one"); console.log("two\\n\\n")`));
    expect(result).toMatchObject({ success: true, status: "completed", summary: "two", exitCode: 0 });
    expect(record).toMatchObject({ status: "completed", exit_code: 0 });
    expect(output).toBe("one\ntwo\n\n\n");
  });

  it("has its stderr in the output, and not in the summary", async () => {
    const { result, output } = await run(node(`console.log("out"); console.error("err")`));
    expect(result.summary).toBe("out");
    expect(output?.split("\n").toSorted()).toEqual(["", "err", "out"]);
  });

  it("has its whole output kept even when the log is slower than the command", async () => {
    const stage = scene();
    let keptBytes = 0;
    stage.store.jobs.openOutput = async () => ({
      write: async (chunk) => {
        await setTimeout(20);
        keptBytes += chunk.length;
      },
      close: async () => {},
    });
    const command = node(`require("node:fs").writeSync(1, "x".repeat(150_000) + "\\nlast\\n")`);
    const { result } = await stage.run({ runtime: { type: "command", command, input: "none" } });
    expect(result.summary).toBe("last");
    expect(keptBytes).toBe(150_006);
  });

  it("has a long last line cut in the summary", async () => {
    const { result } = await run(node(`console.log("x".repeat(100_000))`));
    expect(result.summary).toBe(`${"x".repeat(500)}…`);
  });

  it("gets the prompt on stdin", async () => {
    expect((await run(node(echoInput), {}, "from stdin")).result.summary).toBe("from stdin");
  });

  it("gets a prompt of megabytes in full", async () => {
    const count = `let n = 0; process.stdin.on("data", (d) => (n += d.length)).on("end", () => console.log(n))`;
    expect((await run(node(count), {}, "x".repeat(5_000_000))).result.summary).toBe("5000000");
  });

  it("gets the prompt unchanged in an argument with {prompt}, and nothing on stdin", async () => {
    const script = `process.stdin.on("data", () => console.log("input")).on("end", () => console.log(process.argv[1]))`;
    const { result } = await run(node(script, "=> {prompt} <="), {}, "$(id) $& $1; `id`");
    expect(result.summary).toBe("=> $(id) $& $1; `id` <=");
  });

  it("gets its slot and key in arguments with {slot} and {key}, and the prompt on stdin", async () => {
    const command = node(
      `process.stdin.on("data", (data) => console.log(process.argv.slice(1).join("|") + "|" + data))`,
      "{slot}",
      "--once={key}",
      "{agent}",
    );
    const { result } = await scene().run(
      { runtime: { type: "command", command } },
      { schedule: "hourly", slot: SLOT },
    );
    expect(result.summary).toBe(`${SLOT}|--once=worker/hourly@${SLOT}|{agent}|Do it`);
  });

  it("gets a prompt with {slot} unchanged, and an empty text for a slot that it does not have", async () => {
    const command = node(`console.log(process.argv.slice(1).join("|"))`, "{prompt}", "<{slot}{key}>");
    expect((await run(command, {}, "at {slot}")).result.summary).toBe("at {slot}|<>");
  });

  it("gets nothing on stdin with input: none", async () => {
    const script = `process.stdin.on("data", () => console.log("input")).on("end", () => console.log("end"))`;
    expect((await run(node(script), { input: "none" })).output).toBe("end\n");
  });

  it("succeeds without reading its stdin", async () => {
    expect((await run(node(`process.exit(0)`), {}, "x".repeat(5_000_000))).result.status).toBe("completed");
  });

  it("runs in its cwd", async () => {
    const cwd = stateDirectory();
    expect((await run(node(`console.log(process.cwd())`), { cwd })).result.summary).toContain(cwd);
  });

  it("is not run by a shell", async () => {
    const { result } = await run(["echo", "$HOME", ";", "id"]);
    expect(result.summary).toBe("$HOME ; id");
  });
});

describe("the environment of a command job", () => {
  const dump = node(`console.log(JSON.stringify(process.env))`);

  it("has the basic variables, those of env, and the job's id, agent, schedule, slot, key and attempt", async () => {
    const runtime = { type: "command", command: dump, env: { MODE: "night", LEVEL: 3 } };
    const { result, output } = await scene().run({ runtime }, { schedule: "hourly", slot: SLOT, attempt: 2 });
    expect(JSON.parse(output ?? "")).toMatchObject({
      PATH: process.env["PATH"],
      MODE: "night",
      LEVEL: "3",
      ROTA_JOB_ID: result.jobId,
      ROTA_AGENT: "worker",
      ROTA_SCHEDULE: "hourly",
      ROTA_SLOT: SLOT,
      ROTA_KEY: `worker/hourly@${SLOT}`,
      ROTA_ATTEMPT: "2",
    });
  });

  it("has no slot or key where the job has none, even if the process that started it has them", async () => {
    process.env["ROTA_SLOT"] = SLOT;
    process.env["ROTA_KEY"] = "outer/hourly";
    const { output } = await run(dump, { pass_env: ["ROTA_SLOT", "ROTA_KEY"] });
    delete process.env["ROTA_SLOT"];
    delete process.env["ROTA_KEY"];
    const seen: unknown = JSON.parse(output ?? "");
    expect(seen).not.toHaveProperty("ROTA_SLOT");
    expect(seen).not.toHaveProperty("ROTA_KEY");
  });

  it("has other variables of this process only if pass_env names them", async () => {
    process.env["ROTA_TEST_SHY"] = "shy";
    process.env["ROTA_TEST_BOLD"] = "bold";
    const { output } = await run(dump, { pass_env: ["ROTA_TEST_BOLD", "ROTA_TEST_NONE"] });
    delete process.env["ROTA_TEST_SHY"];
    delete process.env["ROTA_TEST_BOLD"];
    const seen: unknown = JSON.parse(output ?? "");
    expect(seen).toHaveProperty("ROTA_TEST_BOLD", "bold");
    expect(seen).not.toHaveProperty("ROTA_TEST_SHY");
    expect(seen).not.toHaveProperty("ROTA_TEST_NONE");
  });
});

describe("a failing command job", () => {
  it("has its exit code in its record", async () => {
    const { result, record } = await run(node(`console.log("half"); process.exit(3)`), { input: "none" });
    expect(result).toMatchObject({
      success: false,
      error: "The command exited with code 3.",
      exitCode: 3,
      summary: "half",
    });
    expect(record).toMatchObject({ status: "failed", exit_code: 3 });
  });

  it.each([
    [
      "exits",
      `console.error("first"); console.error("the reason is X"); process.exitCode = 3`,
      "exited with code 3",
    ],
    [
      "prints no line break",
      `process.stderr.write("the reason is X"); process.exitCode = 3`,
      "exited with code 3",
    ],
    [
      "colours it, and prints blank lines after it",
      `console.error("\\u001b[31mthe reason is X\\u001b[0m\\n \\n"); process.exitCode = 3`,
      "exited with code 3",
    ],
    [
      "is ended by a signal",
      `process.stderr.write("the reason is X\\n", () => process.kill(process.pid, "SIGKILL"))`,
      "was ended by SIGKILL",
    ],
  ])("has the last line of stderr in its error when the command %s", async (_, script, how) => {
    const { result, record } = await run(node(script), { input: "none" });
    expect(result.error).toBe(`The command ${how}: the reason is X`);
    expect(record?.error).toBe(result.error);
  });

  it("has the error of a Node program in its error, not the version that Node prints last", async () => {
    const { result } = await run(node(`throw new TypeError("the reason is X")`), { input: "none" });
    expect(result.error).toBe("The command exited with code 1: TypeError: the reason is X");
  });

  it("has a long last line of stderr cut", async () => {
    const { result } = await run(node(`console.error("x".repeat(100000)); process.exitCode = 3`));
    expect(result.error).toBe(`The command exited with code 3: ${"x".repeat(500)}…`);
  });

  it("has nothing of stderr in the summary when the command succeeds", async () => {
    const { result } = await run(node(`console.error("a warning"); console.log("done")`));
    expect(result).toMatchObject({ status: "completed", summary: "done" });
    expect(result.error).toBeUndefined();
  });

  it("hides secrets in the last line of stderr", async () => {
    const { result } = await run(node(`console.error("bad key " + process.env.KEY); process.exitCode = 3`), {
      env: { KEY: "abcdefgh\nij" },
    });
    expect(result.error).toBe("The command exited with code 3: bad key [hidden]");
  });

  it("names the signal that ended the command", async () => {
    const { result } = await run(node(`process.kill(process.pid, "SIGKILL"); setInterval(() => {}, 1000)`));
    expect(result).toMatchObject({ status: "failed", error: "The command was ended by SIGKILL." });
    expect(result.exitCode).toBeUndefined();
  });

  it("reports that the command had not read its whole input", async () => {
    const { result } = await run(node(`process.exit(4)`), {}, "x".repeat(20_000_000));
    expect(result).toMatchObject({
      status: "failed",
      exitCode: 4,
      error: "The command exited with code 4, and had not read its whole input.",
    });
  });

  it("names a command that was not found", async () => {
    const { result } = await run(["no-such-command-here"], { env: { PATH: stateDirectory() } });
    expect(result).toMatchObject({
      status: "failed",
      error: expect.stringContaining('The command "no-such-command-here" was not found'),
    });
  });

  it("reports a command that may not be executed", async () => {
    const program = join(stateDirectory(), "program");
    writeFileSync(program, "#!/bin/sh\n");
    chmodSync(program, 0o600);
    expect((await run([program])).result).toMatchObject({
      status: "failed",
      error: expect.stringContaining(`may not be executed: try chmod +x ${program}`),
    });
  });

  it("names the interpreter as a reason when the file is there", async () => {
    const program = join(stateDirectory(), "program");
    writeFileSync(program, "#!/no/such/interpreter\n", { mode: 0o755 });
    expect((await run([program])).result.error).toBe(
      `The command "${program}" was not found, or the interpreter that its first line names.`,
    );
  });

  it("says that there is no shell when the program is a line of a shell", async () => {
    expect((await run(["echo hello | wc"])).result).toMatchObject({
      error: expect.stringContaining(
        'there is no shell. Write its arguments as a list, or [sh, -c, "echo hello | wc"]',
      ),
    });
  });

  it("reports a missing cwd, and not a missing command", async () => {
    const cwd = join(stateDirectory(), "gone");
    expect((await run(node(""), { cwd })).result.error).toBe(
      `The cwd "${cwd}" of the command is not a directory.`,
    );
  });

  it("reports a cwd that is a file", async () => {
    const cwd = join(stateDirectory(), "file");
    writeFileSync(cwd, "");
    expect((await run(node(""), { cwd })).result.error).toContain("is not a directory");
  });

  it("suggests stdin when the arguments are too long", async () => {
    const { result } = await run(node("", "{prompt}"), {}, "x".repeat(10_000_000));
    expect(result.error).toContain("leave {prompt} out, and the prompt comes on stdin");
  });

  it("names the env when it is too long", async () => {
    const { result } = await run(node(""), { env: { BIG: "x".repeat(10_000_000) } });
    expect(result.error).toContain("or its env are too long");
  });

  it("reports a prompt with a NUL in an argument", async () => {
    expect((await run(node("", "{prompt}"), {}, "a\0b")).result.error).toContain("the prompt holds a NUL");
  });
});

describe("the configuration of a command job", () => {
  it.each([
    [{}, "has no command"],
    [{ command: [] }, "has no command"],
    [{ command: "node work.js" }, 'is "node work.js", expected a list of texts'],
    [{ command: ["a", 1] }, "expected a list of texts"],
    [{ command: ["a", "b\0c"] }, "expected a list of texts"],
    [{ command: ["a"], cwd: 7 }, "The cwd of a command runtime is 7"],
    [{ command: ["a"], env: ["A=1"] }, "expected names and their texts"],
    [{ command: ["a"], env: { A: {} } }, '"A" in the env'],
    [{ command: ["a"], env: { "A=B": "" } }, 'cannot hold "A=B"'],
    [{ command: ["a"], pass_env: "PATH" }, "expected a list of texts"],
    [{ command: ["a"], input: "file" }, 'is "file", expected "stdin" or "none"'],
    [{ command: ["a"], shell: true }, 'has no "shell", expected command, cwd'],
  ])("%j fails the job, and the error says why", async (runtime, error) => {
    const { result } = await scene().run({ runtime: { type: "command", ...runtime } });
    expect(result).toMatchObject({ status: "failed", error: expect.stringContaining(error) });
  });

  it("may name a cwd that is created later", async () => {
    const cwd = join(stateDirectory(), "later");
    const stage = scene();
    const agent = { runtime: { type: "command", command: node(""), cwd } };
    expect((await stage.run(agent)).result.status).toBe("failed");
    mkdirSync(cwd);
    expect((await stage.run(agent)).result.status).toBe("completed");
  });
});
