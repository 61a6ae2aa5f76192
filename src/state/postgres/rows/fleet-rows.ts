/** Reads the states of a whole fleet with one statement. */
import type { ScheduleState } from "../../schedule-state.js";
import { wholeState } from "../../validate-state.js";
import { columnText } from "./column-text.js";
import type { Statements } from "../connection/database.js";
import { readRow, ROW_COLUMNS } from "./state-row.js";

/** By agent and then by schedule, in the order in which they were defined. Without `agents`, the states of all agents. */
export async function readStates(
  { schema, query }: Statements,
  agents?: readonly string[],
): Promise<ReadonlyMap<string, ReadonlyMap<string, ScheduleState>>> {
  const rows = await query({
    text: `select ${ROW_COLUMNS} from ${schema}.schedules n join ${schema}.states s on s.id = n.id
      where s.state is not null and ($1::text[] is null or n.agent = any($1)) order by n.id`,
    values: [agents?.map(columnText) ?? null],
    isText: true,
  });
  const states = new Map<string, Map<string, ScheduleState>>();
  for (const { agent, schedule, state } of rows.map(readRow)) {
    const ofAgent = states.get(agent) ?? new Map<string, ScheduleState>();
    states.set(agent, ofAgent.set(schedule, wholeState(state)));
  }
  return states;
}
