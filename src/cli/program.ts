/**
 * Runs a command line: finds the command, reads its options, and turns the result or error into an exit code.
 * commands.ts defines the commands; commander parses and prints help.
 */
import { Command as Parser, CommanderError, Option as ParserOption } from "commander";
import { ConfigError } from "../scheduler/definition/errors.js";
import { messageOf, RotaError } from "../errors.js";
import type { Call, Command, Option } from "./command.js";
import type { CliContext } from "./context.js";
import { exitCodeOf, usageError } from "./errors.js";
import { EXIT, type ExitCode } from "./exit-codes.js";
import { DEBUG, GLOBAL_OPTIONS, JSON_OUTPUT, NO_COLOR } from "./global-options.js";
import { Output } from "./output.js";

export interface Program {
  readonly version: string;
  readonly commands: readonly Command[];
}

/** `args`: the words after `rota`. Never rejects. */
export async function runProgram(
  program: Program,
  args: readonly string[],
  context: CliContext,
): Promise<ExitCode> {
  // Read before parsing, because errors of parsing are printed too.
  const output = new Output(context, !args.includes(`--${NO_COLOR.name}`));
  let exitCode: ExitCode = EXIT.ok;
  const parser = programParser(program, context, async (command, values, operands) => {
    exitCode = await command.run(callOf(program, { context, output, args: operands, values }));
  });
  try {
    if (args.length === 0) {
      parser.outputHelp({ error: true });
      return EXIT.usage;
    }
    await parser.parseAsync([...args], { from: "user" });
    return exitCode;
  } catch (error) {
    return report(error, output, args.includes(`--${DEBUG.name}`));
  }
}

interface CallParts extends Pick<Call, "args" | "context" | "output"> {
  readonly values: Readonly<Record<string, unknown>>;
}

function callOf({ commands }: Program, { values, ...parts }: CallParts): Call {
  const optionOf = <Value>(option: Option<Value>): Value => option.read(values[option.name]);
  return { ...parts, commands, isJson: optionOf(JSON_OUTPUT), option: optionOf };
}

type RunCommand = (
  command: Command,
  values: Readonly<Record<string, unknown>>,
  operands: readonly string[],
) => Promise<void>;

/** The program for commander. It writes to the context's streams and never exits the process. */
export function programParser(program: Program, context: CliContext, run: RunCommand): Parser {
  const parser = new Parser("rota")
    .description("Runs a fleet of agents on their schedules, and explains every run.")
    .version(program.version, "-V, --version", "Print the version.")
    .helpOption("-h, --help", "Show help.")
    .helpCommand("help [command]", "Show help for a command.")
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      writeOut: (text) => void context.stdout.write(text),
      writeErr: (text) => void context.stderr.write(text),
      getOutHelpWidth: () => context.stdout.columns ?? 100,
      getErrHelpWidth: () => context.stderr.columns ?? 100,
      // `report` prints all errors.
      outputError: () => {},
    })
    .exitOverride();
  for (const option of GLOBAL_OPTIONS) parser.addOption(parserOption(option));
  for (const command of program.commands) addCommand(parser, command, run);
  return parser;
}

function addCommand(parser: Parser, command: Command, run: RunCommand): void {
  const { name, summary, details = [], examples, options = [] } = command;
  const sub = parser
    .command(name)
    .summary(summary)
    .description([summary, ...details].join("\n\n"));
  for (const argument of command.arguments ?? []) {
    const shown = argument.isRequired ? `<${argument.name}>` : `[${argument.name}]`;
    sub.argument(shown, argument.summary);
  }
  for (const option of options) sub.addOption(parserOption(option));
  sub.addHelpText(
    "after",
    `\nExamples:\n${examples.map((one) => `  ${one.command}\n      ${one.comment}`).join("\n")}`,
  );
  sub.action(async () => {
    const given: Readonly<Record<string, unknown>> = sub.optsWithGlobals();
    const all = [...GLOBAL_OPTIONS, ...options];
    const values = all.map((option): [string, unknown] => [
      option.name,
      valueIn(given, parserOption(option)),
    ]);
    await run(command, Object.fromEntries(values), sub.args);
  });
}

/** Commander stores `--no-color` as `color: false`. */
function valueIn(given: Readonly<Record<string, unknown>>, option: ParserOption): unknown {
  const value = given[option.attributeName()];
  return option.negate ? value === false : value;
}

/** `-c, --config <file>` */
export function flagsOf({ name, short, value }: Option): string {
  const long = value === undefined ? `--${name}` : `--${name} <${value}>`;
  return short === undefined ? long : `-${short}, ${long}`;
}

function parserOption(option: Option): ParserOption {
  return new ParserOption(flagsOf(option), option.summary);
}

function report(error: unknown, output: Output, isDebugging: boolean): ExitCode {
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return EXIT.ok;
    // Commander has already printed the help.
    if (error.code === "commander.help") return EXIT.usage;
    return report(usageError(error.message.replace(/^error: /, "")), output, isDebugging);
  }
  const exitCode = exitCodeOf(error);
  // A ConfigError lists all problems of a configuration, so its message is not shortened.
  const message = error instanceof ConfigError ? error.message : messageOf(error);
  const [first = "", ...others] = message.split("\n");
  output.message([output.paintMessage("red", `rota: ${first}`), ...others].join("\n"));
  if (isDebugging) output.message(stackOf(error));
  else if (!(error instanceof RotaError)) output.message("Unexpected error. --debug prints the stack trace.");
  else if (error.code === "USAGE") output.message("Try `rota --help`, or `rota <command> --help`.");
  return exitCode;
}

/** The stack of the error and of its causes. */
function stackOf(error: unknown): string {
  const stacks: string[] = [];
  for (let one = error; one instanceof Error; one = one.cause) stacks.push(one.stack ?? String(one));
  return stacks.join("\ncaused by ");
}
