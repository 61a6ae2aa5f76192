import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { COMMANDS } from "../../src/cli/commands.js";
import { cliReference } from "../../src/cli/reference.js";
import { Terminal } from "./terminal.js";

describe("docs/cli.md", () => {
  it("matches the definitions of the commands: npm run docs:cli writes it", () => {
    const page = readFileSync(new URL("../../docs/cli.md", import.meta.url), "utf8");
    expect(page).toBe(cliReference(COMMANDS));
  });

  it("documents exit code 3 for a missing state", async () => {
    const terminal = new Terminal();
    const exitCode = await terminal.run("jobs", "--state-dir", "nowhere");
    expect(cliReference(COMMANDS)).toContain(
      `- \`${exitCode}\`: the agent, schedule, job or state does not exist`,
    );
  });
});

describe("every command", () => {
  it.each(COMMANDS.map((command) => [command.name, command] as const))(
    "has help with examples: %s",
    async (name, command) => {
      const terminal = new Terminal();
      expect(await terminal.run(name, "--help")).toBe(0);
      expect(command.examples.length).toBeGreaterThan(0);
      for (const example of command.examples) expect(terminal.out).toContain(example.command);
    },
  );

  it.each(COMMANDS.map(({ name, options = [] }) => [name, options] as const))(
    "has options that no other means something else by: %s",
    (_, options) => {
      const names = options.flatMap(({ name, short }) => [name, ...(short === undefined ? [] : [short])]);
      expect(new Set(names).size).toBe(names.length);
      for (const taken of [
        "config",
        "c",
        "state-dir",
        "json",
        "no-color",
        "debug",
        "help",
        "h",
        "version",
        "V",
      ])
        expect(names).not.toContain(taken);
    },
  );
});
