/**
 * A command: data from which help, the reference page and shell completion are generated, and a function that runs it.
 * The object that defines an option also reads it, so that its value has a type.
 */
import { quote } from "../errors.js";
import type { CliContext } from "./context.js";
import { usageError } from "./errors.js";
import type { ExitCode } from "./exit-codes.js";
import type { Output } from "./output.js";

/** What a shell offers as values. */
export type Completion = "agent" | "directory" | "file" | "job" | "schedule" | readonly string[];

export interface Option<Value = unknown> {
  /** Without its dashes. */
  readonly name: string;
  readonly short: string | undefined;
  /** The placeholder of its value in help; `undefined` for a flag. */
  readonly value: string | undefined;
  readonly summary: string;
  readonly completion: Completion | undefined;
  /** `given`: the text after the option, `true` for a flag, `undefined` when the option is missing. */
  read(given: unknown): Value;
}

export interface Argument {
  readonly name: string;
  readonly isRequired: boolean;
  readonly summary: string;
  readonly completion?: Completion | undefined;
}

export interface Example {
  readonly command: string;
  readonly comment: string;
}

/** One call of a command. */
export interface Call {
  readonly context: CliContext;
  readonly output: Output;
  readonly isJson: boolean;
  /** As typed. Required arguments are present. */
  readonly args: readonly string[];
  /** All commands of the program. */
  readonly commands: readonly Command[];
  /** The value of an option of the command, or of a global option. */
  readonly option: <Value>(option: Option<Value>) => Value;
}

export interface Command {
  readonly name: string;
  readonly summary: string;
  /** Paragraphs that follow the summary. */
  readonly details?: readonly string[] | undefined;
  readonly arguments?: readonly Argument[] | undefined;
  readonly options?: readonly Option[] | undefined;
  readonly examples: readonly Example[];
  run(call: Call): Promise<ExitCode>;
}

interface OptionText {
  readonly summary: string;
  readonly short?: string | undefined;
  readonly completion?: Completion | undefined;
}

/** An option without a value. */
export function flag(name: string, { summary, short }: OptionText): Option<boolean> {
  return {
    name,
    short,
    value: undefined,
    summary,
    completion: undefined,
    read: (given) => given === true,
  };
}

/** An option with a value; `parse` converts the text, or throws for an invalid one. */
export function option<Value>(
  name: string,
  value: string,
  { summary, short, completion }: OptionText,
  parse: (text: string) => Value,
): Option<Value | undefined> {
  const read = (given: unknown): Value | undefined => {
    if (typeof given !== "string") return undefined;
    if (given === "") throw usageError(`--${name} needs a value`);
    return parse(given);
  };
  return { name, short, value, summary, completion, read };
}

export function textOption(name: string, value: string, text: OptionText): Option<string | undefined> {
  return option(name, value, text, (given) => given);
}

/** An option for a whole number from 1 to 999,999,999. */
export function countOption(name: string, text: OptionText): Option<number | undefined> {
  return option(name, "count", text, (given) => {
    const count = /^\d{1,9}$/.test(given) ? Number(given) : 0;
    if (count < 1) throw usageError(`Invalid --${name} ${quote(given)}: expected a whole number from 1`);
    return count;
  });
}

/** An option for one of several words. */
export function choiceOption<Choice extends string>(
  name: string,
  choices: readonly Choice[],
  text: OptionText,
): Option<Choice | undefined> {
  return option(name, name, { ...text, completion: choices }, (given) => {
    const chosen = choices.find((choice) => choice === given);
    if (chosen === undefined)
      throw usageError(`Invalid --${name} ${quote(given)}: expected one of ${choices.join(", ")}`);
    return chosen;
  });
}
