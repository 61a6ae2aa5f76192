/**
 * Changes of schedules from a terminal: they are written into the state, where a scheduler finds them within one check,
 * or when it starts.
 */
import type { ScheduleState, ScheduleStatePatch } from "../../state/schedule-state.js";
import type { Argument, Call } from "../command.js";
import { findTargets } from "./find-target.js";
import { nameOf, readFleet } from "./fleet.js";
import { oneLine } from "../format/text-width.js";

export const TARGET: Argument = {
  name: "agent/schedule",
  isRequired: true,
  summary: "The schedule; or an agent, for all of its schedules.",
  completion: "schedule",
};

export interface ScheduleControl {
  /** As it is said of it: "Paused". */
  readonly done: string;
  readonly decide: (state: ScheduleState) => ScheduleStatePatch;
}

/** Changes what the call's first argument names, and says so: "Paused reports/nightly". */
export async function changeSchedules(call: Call, control: (now: Date) => ScheduleControl): Promise<void> {
  const { args, isJson, output } = call;
  await using fleet = await readFleet(call);
  const { schedules, guest, now } = fleet;
  const { done, decide } = control(now);
  const targets = findTargets(schedules, args[0] ?? "");
  const states = await Promise.all(
    targets.map(({ agent, schedule }) => guest.store.update({ agent, schedule }, decide)),
  );
  if (isJson)
    output.json(targets.map(({ agent, schedule }, index) => ({ agent, schedule, state: states[index] })));
  else for (const target of targets) output.talk(`${done} ${oneLine(nameOf(target))}.`);
}
