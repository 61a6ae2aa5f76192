/** Every shell command in README and docs exists: an npm script, a program or a command of rota. */
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

/** The commands of a block, each as words, without comments. */
function commandsIn(text: string): readonly (readonly string[])[] {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  return lines
    .flatMap((line) => line.replace(/\s+# .*$/, "").split(" && "))
    .map((command) => Array.from(command.matchAll(/"([^"]*)"|\S+/g), ([word, quoted]) => quoted ?? word));
}

/** The command that the parser of rota finds in these words. Rejects if the parser refuses them. */
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
    // Reads the values too, such as "2h" for a time.
    for (const option of command.options ?? []) option.read(values[option.name]);
  });
  await parser.parseAsync([...words], { from: "user" });
  return found;
}

/** Whether the command exists. */
async function works([program, ...words]: readonly string[]): Promise<boolean> {
  const [first = "", second = ""] = words;
  if (program === "npx") return works(words);
  if (program === "vitest") return existsSync(join(root, second));
  if (program === "rota") return (await commandOf(words)) !== undefined;
  if (program === "npm" && first === "run") return second in scripts;
  if (program === "npm") return ["ci", "install", "pack", "start", "test"].includes(first);
  if (program === "vitest") return existsSync(join(root, second));
  if (program === "node") return existsSync(join(root, words.at(-1) ?? ""));
  return program === "cd";
}

// The command reference is generated from the definitions, and a separate test compares them.
const BLOCKS = blocksOfAll("sh").filter(({ at }) => !at.startsWith("docs/cli.md"));
const COMMANDS_SHOWN = BLOCKS.flatMap(({ at, text }) =>
  commandsIn(text).map((words) => ({ at, words, line: words.join(" ") })),
);

/** The commands that service files start. */
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
  it.each(SERVICES)("at $at starts a service by an existing command: $line", async ({ file, line }) => {
    expect(existsSync(join(root, file))).toBe(true);
    expect(await commandOf(line.split(" "))).toBe("run");
  });

  it("shows one service file", () => {
    expect(SERVICES).toHaveLength(1);
  });

  it.each(COMMANDS_SHOWN)("at $at shows an existing command: $line", async ({ words }) => {
    expect(await works(words)).toBe(true);
  });
});
