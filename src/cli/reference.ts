/** The reference page of the command, generated from the definitions of the commands. Pure. */
import type { Argument, Command, Example, Option } from "./command.js";
import { EXIT } from "./exit-codes.js";
import { GLOBAL_OPTIONS } from "./global-options.js";
import { flagsOf } from "./program.js";

const EXIT_WORDS: readonly (readonly [number, string])[] = [
  [EXIT.ok, "it worked"],
  [EXIT.failure, "it did not"],
  [EXIT.usage, "it was called wrongly, or the configuration is wrong"],
  [EXIT.notFound, "there is no such agent, schedule or job, or no state at all where it was looked for"],
  [EXIT.jobFailed, "the job that was waited for failed"],
];

/** A page of Markdown. */
export function cliReference(commands: readonly Command[]): string {
  const parts = [
    "<!-- Written by `npm run docs:cli` from the definitions in src/cli. Do not edit. -->",
    "# The `rota` command",
    "Sees and steers a fleet from a terminal, also while a scheduler runs it in another process: they share the state.",
    shellBlock(["rota init", "rota validate", "rota list"]),
    "Data goes to stdout, everything else to stderr. Tables fit the terminal; what goes to a file or a pipe is never " +
      "cut. Times are ISO times with their offset, in the system's zone where nothing else is said.",
    "## Commands",
    bullets(commands.map(({ name, summary }) => `[\`${name}\`](#rota-${name}): ${summary}`)),
    "## Options of all commands",
    bullets(GLOBAL_OPTIONS.map(shownOption)),
    "## Exit codes",
    bullets(EXIT_WORDS.map(([code, words]) => `\`${code}\`: ${words}`)),
    ...commands.flatMap(section),
  ];
  return `${parts.join("\n\n")}\n`;
}

function section(command: Command): string[] {
  const { name, summary, details = [], arguments: args = [], options = [], examples } = command;
  const usage = [
    "rota",
    name,
    ...args.map(shownArgument),
    ...(options.length === 0 ? [] : ["[options]"]),
  ].join(" ");
  const given = [
    ...args.map((one) => `\`${shownArgument(one)}\`: ${one.summary}`),
    ...options.map(shownOption),
  ];
  return [
    `## \`rota ${name}\``,
    summary,
    ...details,
    shellBlock([usage]),
    ...(given.length === 0 ? [] : [bullets(given)]),
    shellBlock(examples.map(shownExample)),
  ];
}

function shownArgument({ name, isRequired }: Argument): string {
  return isRequired ? `<${name}>` : `[${name}]`;
}

function shownOption(option: Option): string {
  return `\`${flagsOf(option)}\`: ${option.summary}`;
}

function shownExample({ command, says }: Example): string {
  return `${command} # ${says}`;
}

function bullets(lines: readonly string[]): string {
  return lines.map((line) => `- ${line}`).join("\n");
}

function shellBlock(lines: readonly string[]): string {
  return ["```sh", ...lines, "```"].join("\n");
}
