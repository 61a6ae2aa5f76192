/** Generates the reference page, docs/cli.md, from the definitions of the commands. Pure. */
import type { Argument, Command, Example, Option } from "./command.js";
import { EXIT } from "./exit-codes.js";
import { GLOBAL_OPTIONS } from "./global-options.js";
import { flagsOf } from "./program.js";

const EXIT_MEANINGS: readonly (readonly [number, string])[] = [
  [EXIT.ok, "success"],
  [EXIT.failure, "failure"],
  [EXIT.usage, "invalid arguments, or an invalid configuration"],
  [EXIT.notFound, "the agent, schedule, job or state does not exist"],
  [EXIT.warned, "`rota status` has a warning, or no scheduler runs where one should"],
  [EXIT.jobFailed, "the command waited for a job, and the job failed"],
];

/** A page of Markdown. */
export function cliReference(commands: readonly Command[]): string {
  const parts = [
    "<!-- Written by `npm run docs:cli` from the definitions in src/cli. Do not edit. -->",
    "# The `rota` command",
    "Runs, inspects and controls a fleet from a terminal. Every command also works while a scheduler runs the fleet in " +
      "another process, because both share the state.",
    shellBlock(["rota init", "rota validate", "rota list"]),
    "Data goes to stdout, messages go to stderr. Tables fit the terminal; output to a file or a pipe is never cut. Times " +
      "are ISO times with their offset, in the system's time zone unless the schedule names one.",
    "## Commands",
    bullets(commands.map(({ name, summary }) => `[\`${name}\`](#rota-${name}): ${summary}`)),
    "## Global options",
    bullets(GLOBAL_OPTIONS.map(shownOption)),
    "## Exit codes",
    bullets(EXIT_MEANINGS.map(([code, words]) => `\`${code}\`: ${words}`)),
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

function shownExample({ command, comment }: Example): string {
  return `${command} # ${comment}`;
}

function bullets(lines: readonly string[]): string {
  return lines.map((line) => `- ${line}`).join("\n");
}

function shellBlock(lines: readonly string[]): string {
  return ["```sh", ...lines, "```"].join("\n");
}
