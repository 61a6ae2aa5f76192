/**
 * What a command is: data from which help, the reference page and shell completion are made, and a function that runs.
 * An option is read by the object that defines it, so that what it holds has a type.
 */
import { quote } from "../errors.js";
import type { CliContext } from "./context.js";
import { usageError } from "./errors.js";
import type { ExitCode } from "./exit-codes.js";
import type { Output } from "./output.js";

/** What a shell offers in the place of a value. */
export type Completion = "agent" | "directory" | "file" | "job" | "schedule" | readonly string[];

export interface Option<Value = unknown> {
  /** Without its dashes. */
  readonly name: string;
  readonly short: string | undefined;
  /** What stands for its value in help; `undefined` for one that has none. */
  readonly value: string | undefined;
  readonly summary: string;
  readonly completion: Completion | undefined;
  /** `given`: the text after the option, `true` for one without a value, `undefined` where it was left out. */
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
  readonly says: string;
}

/** One call of a command. */
export interface Call {
  readonly context: CliContext;
  readonly output: Output;
  readonly isJson: boolean;
  /** As the shell handed them over; those that are required are there. */
  readonly args: readonly string[];
  /** All that there are. */
  readonly commands: readonly Command[];
  /** What an option of the command, or one of those that all have, was given. */
  readonly option: <Value>(option: Option<Value>) => Value;
}

export interface Command {
  readonly name: string;
  readonly summary: string;
  /** More than the summary, a paragraph each. */
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

/** An option that is there or not. */
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

/** An option with a text; `parse` answers what it means, or throws why it means nothing. */
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

/** An option with a whole number from 1. */
export function countOption(name: string, text: OptionText): Option<number | undefined> {
  return option(name, "count", text, (given) => {
    const count = /^\d{1,9}$/.test(given) ? Number(given) : 0;
    if (count < 1) throw usageError(`Invalid --${name} ${quote(given)}: expected a whole number from 1`);
    return count;
  });
}

/** An option that takes one of a few words. */
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
