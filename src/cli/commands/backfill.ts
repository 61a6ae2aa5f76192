/** `rota backfill`: runs the slots of a past period of a cron schedule, shows how far that has come, or cancels it. */
import {
  type BackfillProgress,
  backfillCancelled,
  backfilled,
  backfillOf,
  backfillProgress,
} from "../../scheduler/control/backfill.js";
import { SchedulerError } from "../../scheduler/errors.js";
import { type Argument, type Call, type Command, countOption, flag } from "../command.js";
import { refusedError, usageError } from "../errors.js";
import { EXIT, type ExitCode } from "../exit-codes.js";
import { findTarget } from "../fleet/find-target.js";
import { type Fleet, type FleetSchedule, hasLiveScheduler, nameOf, readFleet } from "../fleet/fleet.js";
import { oneLine } from "../format/text-width.js";
import { progressText, slotsOf } from "../format/backfill.js";
import { zonedTime } from "../format/when.js";
import { instantOption } from "../instant-option.js";

const TARGET: Argument = {
  name: "agent/schedule",
  isRequired: true,
  summary: "A cron schedule.",
  completion: "schedule",
};
const FROM = instantOption("from", "past", "The period begins at this time, or this long ago.");
const TO = instantOption("to", "past", "The period ends at this time, or this long ago.");
const LIMIT = countOption("limit", {
  summary: "Refuse a period with more slots than this. Default: 100, at most 1000.",
});
const DRY_RUN = flag("dry-run", { summary: "List the slots, and change nothing." });
const CANCEL = flag("cancel", { summary: "Leave out the slots that have not run. A running job continues." });

export const backfillCommand: Command = {
  name: "backfill",
  summary: "Run the slots of a past period of a cron schedule; without a period, show how far a backfill is.",
  details: [
    "The slots run oldest first, one at a time, and after the schedule's own due slots. Slots with a completed job are left " +
      "out. What is left to run is kept in the state until it is done; a pause or a disabled schedule holds it back.",
  ],
  arguments: [TARGET],
  options: [FROM, TO, LIMIT, DRY_RUN, CANCEL],
  examples: [
    { command: "rota backfill reports/nightly --from 7d --to 1d --dry-run", comment: "list the slots" },
    { command: "rota backfill reports/nightly --from 2026-11-01 --to 2026-11-08", comment: "run them" },
    { command: "rota backfill reports/nightly", comment: "how far it is" },
    { command: "rota backfill reports/nightly --cancel", comment: "leave out the rest" },
  ],
  run: backfill,
};

async function backfill(call: Call): Promise<ExitCode> {
  const { args, option } = call;
  const [from, to] = [option(FROM), option(TO)];
  const hasPeriod = from !== undefined && to !== undefined;
  if (option(CANCEL) && (from ?? to) !== undefined) throw usageError("Give --cancel or a period, not both");
  if (!hasPeriod && ((from ?? to) !== undefined || option(DRY_RUN) || option(LIMIT) !== undefined))
    throw usageError("A period needs both --from and --to");
  await using fleet = await readFleet(call);
  const target = findTarget(fleet.schedules, args[0] ?? "");
  if (option(CANCEL)) await cancel(call, fleet, target);
  else if (!hasPeriod) showProgress(call, target);
  else {
    const { definition } = target;
    const zone = definition?.type === "cron" ? definition.timezone : undefined;
    await request(call, fleet, target, { from: from(fleet.now, zone), to: to(fleet.now, zone) });
  }
  return EXIT.ok;
}

async function request(
  { option, isJson, output }: Call,
  fleet: Fleet,
  target: FleetSchedule,
  period: { readonly from: Date; readonly to: Date },
): Promise<void> {
  const { connection, now } = fleet;
  const { agent, schedule, definition, state } = target;
  const name = oneLine(nameOf(target));
  if (definition === undefined)
    throw refusedError(`${name} is not in the configuration, so its slots are not known`);
  const isDryRun = option(DRY_RUN);
  const underWay = backfillProgress(state);
  if (underWay !== undefined)
    throw refusedError(
      `A backfill of ${name} is under way: ${progressText(underWay)}. Wait for it, or cancel it with --cancel`,
    );
  const scene = { agent, schedule, definition, state, now, jobs: connection.store.jobs };
  const { slots, leftOut } = await refused(() => backfillOf({ ...period, limit: option(LIMIT) }, scene));
  if (!isDryRun) await refused(() => connection.store.update({ agent, schedule }, backfilled(slots)));
  if (isJson) {
    const iso = slots.map((slot) => slot.toISOString());
    output.json({ agent, schedule, dry_run: isDryRun, slots: iso, left_out: leftOut });
    return;
  }
  const zone = definition.type === "cron" ? definition.timezone : undefined;
  if (isDryRun) for (const slot of slots) output.line(zonedTime(slot, zone));
  const skipped = leftOut === 0 ? "" : ` ${leftOut} left out: completed, running or due.`;
  if (slots.length === 0) output.message(`${name} has no slot to run in this period.${skipped}`);
  else if (isDryRun) output.message(`${slotsOf(slots.length)} of ${name} would run.${skipped}`);
  else {
    const later = hasLiveScheduler(fleet) ? "" : " No scheduler is running: they wait for the next one.";
    output.message(`${slotsOf(slots.length)} of ${name} to run, oldest first.${skipped}${later}`);
  }
}

async function cancel({ isJson, output }: Call, { connection }: Fleet, target: FleetSchedule): Promise<void> {
  const { agent, schedule } = target;
  let before: BackfillProgress | undefined;
  await connection.store.update({ agent, schedule }, (state) => {
    before = backfillProgress(state);
    return backfillCancelled(state);
  });
  const name = oneLine(nameOf(target));
  if (isJson) output.json({ agent, schedule, cancelled: before !== undefined });
  else if (before === undefined) output.message(`No backfill of ${name} is under way.`);
  else output.message(`Cancelled the backfill of ${name}: ${progressText({ ...before, next: undefined })}.`);
}

function showProgress({ isJson, output }: Call, target: FleetSchedule): void {
  const { agent, schedule, state } = target;
  const progress = backfillProgress(state);
  if (isJson) output.json({ agent, schedule, backfill: progress ?? null });
  else if (progress === undefined) output.line(`No backfill of ${oneLine(nameOf(target))} is under way.`);
  else output.line(`${oneLine(nameOf(target))}: ${progressText(progress)}`);
}

/** What the scheduler's rules refuse is a mistake in the call. */
async function refused<Result>(act: () => Promise<Result>): Promise<Result> {
  try {
    return await act();
  } catch (error) {
    if (error instanceof SchedulerError) throw usageError(error.message, error);
    throw error;
  }
}
