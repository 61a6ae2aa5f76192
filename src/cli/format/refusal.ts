/** What a scheduler answers that does nothing, as people say it. Pure. */
import { type CliError, refusedError } from "../errors.js";
import type { SeenScheduler } from "../location/state-location.js";
import { schedulerInWords } from "./schedulers.js";

const WORDS: Readonly<Record<string, string>> = {
  already_running: "a job of it is running. See `rota jobs --status running`",
  at_capacity: "its agent, or the whole fleet, has as many jobs as it may",
  disabled: "it is disabled. `rota enable` enables it",
  unknown_schedule: "the scheduler that runs does not know it. Does it run with another configuration?",
  not_running: "the scheduler runs no such job",
};

export function refusalInWords(refusal: string | null | undefined): string {
  return WORDS[refusal ?? ""] ?? refusal ?? "the scheduler did not say why";
}

/** `asked`: those that could have answered. */
export function noAnswerError(asked: readonly SeenScheduler[]): CliError {
  const [only, ...others] = asked;
  if (others.length > 0)
    return refusedError(
      `None of ${asked.length} schedulers answered within 10 s: they may be busy, or stopping. Try again`,
    );
  const who = only === undefined ? "The scheduler" : `The scheduler, ${schedulerInWords(only)},`;
  return refusedError(`${who} did not answer within 10 s: it may be busy, or stopping. Try again`);
}
