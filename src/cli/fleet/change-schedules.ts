/**
 * Changes schedules from a terminal by writing to the state. A running scheduler picks the change up within one check,
 * otherwise the next scheduler does when it starts.
 */
import type { ScheduleState, ScheduleStatePatch } from "../../state/schedule-state.js";
import type { Call } from "../command.js";
import { oneLine } from "../format/text-width.js";
import { findTargets } from "./find-target.js";
import { type Fleet, type FleetSchedule, nameOf, readFleet } from "./fleet.js";

export interface ScheduleEdit {
  /** What is printed for each schedule: "Paused reports/nightly." */
  readonly message: (name: string) => string;
  readonly patch: (state: ScheduleState, schedule: FleetSchedule) => ScheduleStatePatch;
}

/** Changes the schedules that the call's first argument names, and prints a message for each. */
export async function changeSchedules(call: Call, editAt: (now: Date) => ScheduleEdit): Promise<void> {
  await using fleet = await readFleet(call);
  await changeSchedulesOf(fleet, call, editAt(fleet.now));
}

/** The same in a fleet that was read before. */
export async function changeSchedulesOf(
  { schedules, connection }: Fleet,
  call: Call,
  { message, patch }: ScheduleEdit,
): Promise<void> {
  const { args, isJson, output } = call;
  const targets = findTargets(schedules, args[0] ?? "");
  const states = await Promise.all(
    targets.map((target) => {
      const { agent, schedule } = target;
      return connection.store.update({ agent, schedule }, (state) => patch(state, target));
    }),
  );
  if (isJson)
    output.json(targets.map(({ agent, schedule }, index) => ({ agent, schedule, state: states[index] })));
  else for (const target of targets) output.message(message(oneLine(nameOf(target))));
}
