/** Messages for requests that a scheduler refused or did not answer. Pure. */
import { type CliError, refusedError } from "../errors.js";
import type { SchedulerProcess } from "../location/state-location.js";
import { formatScheduler } from "./schedulers.js";

const MESSAGES: Readonly<Record<string, string>> = {
  already_running: "a job of this schedule is running. See `rota jobs --status running`",
  at_capacity: "its agent or the whole fleet is at capacity",
  disabled: "the schedule is disabled. `rota enable` enables it",
  unknown_schedule: "the running scheduler does not know it. Does it use a different configuration?",
  not_running: "the scheduler is not running this job",
  expired: "the request came too late, or the clocks of this command and the scheduler differ by days",
  key_reused: "its key was used within 24 hours with a different prompt or different data",
  no_answer: "a scheduler has taken the request and not said what it did. See `rota jobs`",
};

export function formatRefusal(refusal: string | null | undefined): string {
  return MESSAGES[refusal ?? ""] ?? refusal ?? "the scheduler gave no reason";
}

/** `asked`: the live schedulers that could have replied. */
export function noReplyError(asked: readonly SchedulerProcess[]): CliError {
  const [only, ...others] = asked;
  if (others.length > 0)
    return refusedError(
      `None of ${asked.length} schedulers replied within 10 s: they may be busy or stopping. Try again`,
    );
  const who = only === undefined ? "The scheduler" : `The scheduler, ${formatScheduler(only)},`;
  return refusedError(`${who} did not reply within 10 s: it may be busy or stopping. Try again`);
}
