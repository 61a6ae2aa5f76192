// Makes so many updates, one after another: half of them to schedules of its own, half to its own key of a schedule
// that others change too. Prints "done", or what it did not find again.
import { getScheduleState, updateScheduleState } from "../../../dist/state/file/state-functions.js";

const [, , stateDir, agent, key, count] = process.argv;
const valueOf = (number) => (key === "last_error" ? String(number) : number);

let last = null;
for (let number = 0; number < Number(count); number++) {
  if (number % 2 === 0) {
    await updateScheduleState(stateDir, agent, `schedule-${number}`, { failure_count: number });
    continue;
  }
  const { [key]: found = null } = await getScheduleState(stateDir, "shared", "schedule");
  if (found !== last) throw new Error(`${key} was ${found}, and ${last} when it was acknowledged.`);
  last = valueOf(number);
  await updateScheduleState(stateDir, "shared", "schedule", { [key]: last });
}
process.stdout.write("done\n");
