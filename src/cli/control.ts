/**
 * Changes of schedules from a terminal: they are written into the state, where a scheduler finds them within one check,
 * or when it starts.
 */
import type { ScheduleState, ScheduleStatePatch } from "../state/schedule-state.js";
import type { Argument, Call } from "./command.js";
import { findTargets } from "./find-target.js";
import { guestStore, nameOf, readFleet } from "./fleet.js";
import { oneLine } from "./text-width.js";

export const TARGET: Argument = {
  name: "agent/schedule",
  isRequired: true,
  summary: "The schedule; or an agent, for all of its schedules.",
  completion: "schedule",
};

/** Changes what the call's first argument names, and says so: "Paused reports/nightly". */
export async function changeSchedules(
  call: Call,
  done: string,
  decide: (state: ScheduleState) => ScheduleStatePatch,
): Promise<void> {
  const { args, isJson, output } = call;
  const { schedules, stateDir } = await readFleet(call);
  const targets = findTargets(schedules, args[0] ?? "");
  await using store = guestStore(call, stateDir);
  const states = await Promise.all(
    targets.map(({ agent, schedule }) => store.update({ agent, schedule }, decide)),
  );
  if (isJson)
    output.json(targets.map(({ agent, schedule }, index) => ({ agent, schedule, state: states[index] })));
  else for (const target of targets) output.talk(`${done} ${oneLine(nameOf(target))}.`);
}
