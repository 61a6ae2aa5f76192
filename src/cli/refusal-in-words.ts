/** What a scheduler answers that does nothing, as people say it. Pure. */
import type { Owner } from "../state/file/state-owner.js";
import { type CliError, refusedError } from "./errors.js";

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

export function noAnswerError(owner: Owner | undefined): CliError {
  const who = owner === undefined ? "The scheduler" : `The scheduler, process ${owner.pid} on ${owner.host},`;
  return refusedError(`${who} did not answer within 10 s: it may be busy, or stopping. Try again`);
}
