/** Every line for a shell in README and docs is one that works: a script, a program or a command that there is. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../src/clock.js";
import { COMMANDS } from "../../src/cli/commands.js";
import type { CliContext } from "../../src/cli/context.js";
import { programParser } from "../../src/cli/program.js";
import { blocksOfAll, root } from "./pages.js";

const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
  scripts: Record<string, string>;
};

/** The commands of a block, each as words and without what a "#" says of it. */
function commandsIn(text: string): readonly (readonly string[])[] {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  return lines
    .flatMap((line) => line.replace(/\s+# .*$/, "").split(" && "))
    .map((command) => Array.from(command.matchAll(/"([^"]*)"|\S+/g), ([word, quoted]) => quoted ?? word));
}

/** Which command it would run, as the program's own parser reads it; rejects where that refuses. */
async function commandOf(words: readonly string[]): Promise<string | undefined> {
  const nothing = { write: () => true };
  const { signal } = new AbortController();
  const context: CliContext = {
    stdout: nothing,
    stderr: nothing,
    env: {},
    cwd: root,
    clock: systemClock,
    signal,
  };
  let found: string | undefined;
  const parser = programParser({ version: "0.0.0", commands: COMMANDS }, context, async (command, values) => {
    found = command.name;
    // What an option means is looked at as well, such as "2h" for a time.
    for (const option of command.options ?? []) option.read(values[option.name]);
  });
  await parser.parseAsync([...words], { from: "user" });
  return found;
}

/** Whether there is such a thing to be called. */
async function works([program, ...words]: readonly string[]): Promise<boolean> {
  const [first = "", second = ""] = words;
  if (program === "npx") return works(words);
  if (program === "vitest") return existsSync(join(root, second));
  if (program === "rota") return (await commandOf(words)) !== undefined;
  if (program === "npm" && first === "run") return second in scripts;
  if (program === "npm") return ["ci", "install", "pack", "start", "test"].includes(first);
  if (program === "node") return existsSync(join(root, words.at(-1) ?? ""));
  return program === "cd";
}

// The reference of the command is made of its definitions, and held to them by a test of its own.
const BLOCKS = blocksOfAll("sh").filter(({ at }) => !at.startsWith("docs/cli.md"));
const COMMANDS_SHOWN = BLOCKS.flatMap(({ at, text }) =>
  commandsIn(text).map((words) => ({ at, words, line: words.join(" ") })),
);

/** What a service is started by. */
const SERVICES = blocksOfAll("ini").flatMap(({ at, text }) =>
  Array.from(
    text.matchAll(/^ExecStart=.*\bnode_modules\/rota\/(\S+) (.*)$/gm),
    ([, file = "", line = ""]) => ({
      at,
      file,
      line,
    }),
  ),
);

describe("the documentation", () => {
  it.each(SERVICES)("at $at starts a service by a command that there is: $line", async ({ file, line }) => {
    expect(existsSync(join(root, file))).toBe(true);
    expect(await commandOf(line.split(" "))).toBe("run");
  });

  it("starts a service somewhere", () => {
    expect(SERVICES).toHaveLength(1);
  });

  it.each(COMMANDS_SHOWN)("at $at shows a command that there is: $line", async ({ words }) => {
    expect(await works(words)).toBe(true);
  });
});
