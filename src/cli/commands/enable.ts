/** `rota enable` and `rota disable`: a disabled schedule never runs, not even when triggered manually. */
import { disabled, enabled } from "../../scheduler/control/state-changes.js";
import type { Call, Command } from "../command.js";
import { changeSchedules } from "../fleet/change-schedules.js";
import { TARGET } from "../fleet/find-target.js";
import { EXIT, type ExitCode } from "../exit-codes.js";

export const enableCommand: Command = {
  name: "enable",
  summary: "Enable a disabled schedule, or all schedules of an agent.",
  arguments: [TARGET],
  examples: [{ command: "rota enable reports/nightly", comment: "plan it again from now on" }],
  run: enable,
};

export const disableCommand: Command = {
  name: "disable",
  summary: "Disable a schedule, or all schedules of an agent. A running job continues.",
  arguments: [TARGET],
  examples: [{ command: "rota disable reports/nightly", comment: "until it is enabled again" }],
  run: disable,
};

async function enable(call: Call): Promise<ExitCode> {
  await changeSchedules(call, (now) => ({
    message: (name) => `Enabled ${name}.`,
    patch: (state, { definition }) => enabled(now, definition)(state),
  }));
  return EXIT.ok;
}

async function disable(call: Call): Promise<ExitCode> {
  await changeSchedules(call, () => ({ message: (name) => `Disabled ${name}.`, patch: disabled }));
  return EXIT.ok;
}
