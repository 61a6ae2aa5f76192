/** `rota pause` and `rota resume`: a paused schedule does not run, until a time or until it is resumed. */
import { paused, RESUMED } from "../../scheduler/control/state-changes.js";
import type { Call, Command } from "../command.js";
import { changeSchedules } from "../fleet/change-schedules.js";
import { TARGET } from "../fleet/find-target.js";
import { usageError } from "../errors.js";
import { EXIT, type ExitCode } from "../exit-codes.js";
import { instantOption, lengthOption } from "../instant-option.js";
import { zonedTime } from "../format/when.js";

const UNTIL = instantOption("until", "future", "Until this time.");
const FOR = lengthOption("for", "For this long, such as 90m or 1h30m.");

export const pauseCommand: Command = {
  name: "pause",
  summary: "Pause a schedule, or all schedules of an agent. A running job continues.",
  arguments: [TARGET],
  options: [UNTIL, FOR],
  examples: [
    { command: "rota pause reports/nightly", comment: "until it is resumed" },
    { command: "rota pause reports --for 2h", comment: "all schedules of an agent, for two hours" },
    { command: "rota pause reports/nightly --until 2026-12-01T09:00:00Z", comment: "until a time" },
  ],
  run: pause,
};

export const resumeCommand: Command = {
  name: "resume",
  summary: "End the pause of a schedule, or of all schedules of an agent.",
  arguments: [TARGET],
  examples: [{ command: "rota resume reports/nightly", comment: "plan it again from now on" }],
  run: resume,
};

async function pause(call: Call): Promise<ExitCode> {
  const [until, after] = [call.option(UNTIL), call.option(FOR)];
  if (until !== undefined && after !== undefined) throw usageError("Give --until or --for, not both");
  await changeSchedules(call, (now) => {
    const end = after === undefined ? until?.(now) : new Date(now.getTime() + after);
    if (end !== undefined && end <= now) throw usageError("A pause cannot end in the past");
    const patch = paused(end);
    const duration = end === undefined ? "" : ` until ${zonedTime(end)}`;
    return { message: (name) => `Paused ${name}${duration}.`, patch: () => patch };
  });
  return EXIT.ok;
}

async function resume(call: Call): Promise<ExitCode> {
  await changeSchedules(call, () => ({ message: (name) => `Resumed ${name}.`, patch: () => RESUMED }));
  return EXIT.ok;
}
