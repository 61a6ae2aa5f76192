/** `rota forget`: removes the state of schedules that were removed from the configuration. */
import { type Argument, type Call, type Command, flag } from "../command.js";
import { refusedError } from "../errors.js";
import { EXIT, type ExitCode } from "../exit-codes.js";
import { findTargets } from "../fleet/find-target.js";
import { type Fleet, type FleetSchedule, hasLiveScheduler, nameOf, readFleet } from "../fleet/fleet.js";
import { oneLine } from "../format/text-width.js";

const TARGET: Argument = {
  name: "agent/schedule",
  isRequired: false,
  summary: "The schedule; or an agent, for all of its schedules. Default: all that were removed.",
  completion: "schedule",
};
const DRY_RUN = flag("dry-run", { summary: "Only print what would be forgotten." });

export const forgetCommand: Command = {
  name: "forget",
  summary: "Remove the state of schedules that were removed from the configuration.",
  details: [
    "Their jobs stay in `rota jobs` until they are too old. A schedule that is still configured, that a running scheduler still " +
      "knows, or that has a running job is refused, with exit code 1: one that comes back would begin anew, also if it was disabled.",
  ],
  arguments: [TARGET],
  options: [DRY_RUN],
  examples: [
    { command: "rota forget --dry-run", comment: "which schedules were removed" },
    { command: "rota forget reports/nightly", comment: "one schedule" },
  ],
  run: forget,
};

async function forget(call: Call): Promise<ExitCode> {
  const { args, isJson, option, output } = call;
  await using fleet = await readFleet(call);
  const [text] = args;
  const removed = fleet.schedules.filter(({ origin }) => origin === "state-only");
  if (text === undefined && fleet.config === undefined)
    throw refusedError("Without a configuration all schedules look removed: name one");
  const targets = text === undefined ? removed : findTargets(fleet.schedules, text);
  const forgotten: FleetSchedule[] = [];
  const kept: { readonly name: string; readonly reason: string }[] = [];
  for (const target of targets) {
    const reason =
      (await reasonToKeep(fleet, target)) ?? (await reasonNotForgotten(fleet, target, option(DRY_RUN)));
    if (reason === undefined) forgotten.push(target);
    else kept.push({ name: nameOf(target), reason });
  }
  if (isJson)
    output.json({
      dry_run: option(DRY_RUN),
      forgotten: forgotten.map(({ agent, schedule }) => ({ agent, schedule })),
      kept,
    });
  else {
    if (targets.length === 0) output.message("No schedule was removed.");
    const verb = option(DRY_RUN) ? "Would forget" : "Forgot";
    for (const target of forgotten) output.message(`${verb} ${oneLine(nameOf(target))}. Its jobs stay.`);
    for (const { name, reason } of kept) output.message(`Kept ${oneLine(name)}: ${reason}.`);
  }
  return kept.length === 0 ? EXIT.ok : EXIT.failure;
}

async function reasonToKeep(fleet: Fleet, target: FleetSchedule): Promise<string | undefined> {
  const { origin, state } = target;
  if (origin !== "state-only") return "it is still configured: remove it from the configuration first";
  if (!hasLiveScheduler(fleet))
    return state.claim == null
      ? undefined
      : "its job was interrupted, and the next scheduler has to record that first";
  if (state.claim != null) return "a job of it is running";
  const isShared = fleet.schedulers.some(({ name }) => name !== undefined);
  if (isShared) {
    const knowing = await fleet.connection.schedulers(target);
    return knowing.some(({ isAlive }) => isAlive) ? "a running scheduler still knows it" : undefined;
  }
  if (fleet.config === undefined)
    return "a scheduler runs, and no configuration says whether it knows the schedule: stop it first";
  // A scheduler removes the plan of a schedule that it does not know.
  return state.next_run_at == null ? undefined : "the running scheduler still plans it";
}

/** Forgets it, unless this is a dry run. */
async function reasonNotForgotten(
  { connection }: Fleet,
  { agent, schedule }: FleetSchedule,
  isDry: boolean,
): Promise<string | undefined> {
  if (isDry || (await connection.forget({ agent, schedule }))) return undefined;
  return "a job of it has just started, or it is gone already";
}
