import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, openSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { countOption, type Command, flag } from "../../src/cli/command.js";
import { EXIT } from "../../src/cli/exit-codes.js";
import { NO_COLOR } from "../../src/cli/global-options.js";
import { RotaError } from "../../src/errors.js";
import { MAIN, rota, Terminal } from "./terminal.js";

const COUNT = countOption("count", { short: "n", summary: "How many." });
const LOUD = flag("loud", { summary: "Louder." });

function speaking(run: Command["run"]): Terminal {
  const command: Command = {
    name: "speak",
    summary: "Speaks.",
    arguments: [{ name: "word", isRequired: true, summary: "What to say." }],
    options: [COUNT, LOUD],
    examples: [{ command: "rota speak hello", comment: "says it" }],
    run,
  };
  return new Terminal({ commands: [command], columns: 80 });
}

/** Runs the command, and closes its pipe after the first bytes. */
async function piped(cwd: string, args: readonly string[]): Promise<{ exitCode: unknown; err: string }> {
  const child = spawn(process.execPath, [MAIN, ...args], { cwd, stdio: ["ignore", "pipe", "pipe"] });
  let err = "";
  child.stderr.on("data", (text) => (err += String(text)));
  const closed = once(child, "close");
  await once(child.stdout, "data");
  child.stdout.destroy();
  const [exitCode] = (await closed) as [unknown];
  return { exitCode, err };
}

const quiet = (): Terminal => speaking(() => Promise.resolve(EXIT.ok));

describe("a command", () => {
  it("gets its arguments and parsed options", async () => {
    let heard: unknown;
    const terminal = speaking(({ args, option, isJson }) => {
      heard = [args, option(COUNT), option(LOUD), isJson];
      return Promise.resolve(EXIT.jobFailed);
    });
    expect(await terminal.run("speak", "hello", "-n", "3", "--loud")).toBe(5);
    expect(heard).toEqual([["hello"], 3, true, false]);
  });

  it.each([
    ["before", ["--json", "speak", "x"]],
    ["after", ["speak", "x", "--json"]],
  ])("accepts global options %s its name", async (_, args) => {
    let isAsked = false;
    const terminal = speaking(({ isJson }) => {
      isAsked = isJson;
      return Promise.resolve(EXIT.ok);
    });
    await terminal.run(...args);
    expect(isAsked).toBe(true);
  });

  it.each([
    [true, ["--no-color"]],
    [false, []],
  ])("knows whether --no-color is given: %s", async (isUnwanted, args) => {
    let heard: unknown;
    const terminal = speaking(({ option }) => {
      heard = option(NO_COLOR);
      return Promise.resolve(EXIT.ok);
    });
    await terminal.run("speak", "x", ...args);
    expect(heard).toBe(isUnwanted);
  });

  it("has help with its examples, on stdout", async () => {
    const terminal = quiet();
    expect(await terminal.run("speak", "--help")).toBe(0);
    expect(terminal.out).toContain("Examples:\n  rota speak hello\n      says it");
    expect(terminal.out).toContain("--state-dir <directory>");
    expect(terminal.err).toBe("");
  });

  it("prints the message of an error of Rota in red, without a stack", async () => {
    const terminal = speaking(() => Promise.reject(new RotaError("It is broken.", { code: "BROKEN" })));
    expect(await terminal.run("speak", "x")).toBe(1);
    expect(terminal.err).toBe("\u001b[31mrota: It is broken.\u001b[39m\n");
  });

  it("exits with 1 for an unexpected error, and points to --debug", async () => {
    const terminal = speaking(() => Promise.reject(new TypeError("x is not a function")));
    expect(await terminal.run("speak", "x", "--no-color")).toBe(1);
    expect(terminal.err).toBe(
      "rota: x is not a function\nUnexpected error. --debug prints the stack trace.\n",
    );
  });

  it("prints the stacks of an error and its causes with --debug", async () => {
    const cause = new TypeError("inner");
    const terminal = speaking(() => Promise.reject(new RotaError("outer", { code: "BROKEN", cause })));
    await terminal.run("speak", "x", "--debug");
    expect(terminal.err).toMatch(/RotaError: outer\n {4}at [^]*caused by TypeError: inner\n {4}at /);
  });
});

describe("an invalid call", () => {
  it.each([
    ["without a command", []],
    ["of an unknown command", ["speek", "x"]],
    ["with an unknown option", ["speak", "x", "--lod"]],
    ["without a required argument", ["speak"]],
    ["with too many arguments", ["speak", "x", "y"]],
    ["with an option that lacks its value", ["speak", "x", "--count"]],
    ["with an option whose value is empty", ["speak", "x", "--count", ""]],
    ["with a value that means nothing", ["speak", "x", "--count", "few"]],
    ["with a count of 0", ["speak", "x", "--count", "0"]],
  ])("%s exits with 2, prints the error on stderr, and points to help", async (_, args) => {
    const terminal = speaking(({ option }) => Promise.resolve(option(COUNT) === 0 ? EXIT.ok : EXIT.ok));
    expect(await terminal.run(...args)).toBe(2);
    expect(terminal.out).toBe("");
    expect(terminal.err).toContain("--help");
  });

  it("suggests the command that was probably meant", async () => {
    const terminal = quiet();
    await terminal.run("speek", "x");
    expect(terminal.err).toContain("Did you mean speak?");
  });
});

describe("the rota process", () => {
  it("prints the package's version", async () => {
    expect(await rota(["--version"], quiet().cwd)).toEqual({ exitCode: 0, out: "0.1.0\n", err: "" });
  });

  it("ends without an error when its pipe is closed early", async () => {
    const terminal = quiet();
    const { exitCode, err } = await piped(terminal.cwd, ["next", "--cron", "* * * * *", "-n", "10000"]);
    expect({ exitCode, err }).toEqual({ exitCode: 0, err: "" });
  });

  it.runIf(existsSync("/dev/full"))("exits with 1 when the output cannot be written", async () => {
    const full = openSync("/dev/full", "w");
    try {
      const args = [MAIN, "next", "--cron", "@daily"];
      const child = spawn(process.execPath, args, { stdio: ["ignore", full, "pipe"] });
      let err = "";
      child.stderr?.on("data", (text) => (err += String(text)));
      expect(await once(child, "close")).toEqual([1, null]);
      expect(err).toMatch(/^rota: could not write the output: .*no space left/);
      expect(err.split("\n")).toHaveLength(2);
    } finally {
      closeSync(full);
    }
  });

  it("exits with the code of the error, and prints it on stderr only", async () => {
    const ended = await rota(["lits"], quiet().cwd);
    expect(ended).toMatchObject({ exitCode: 2, out: "" });
    expect(ended.err).toContain("Did you mean list?");
  });
});
