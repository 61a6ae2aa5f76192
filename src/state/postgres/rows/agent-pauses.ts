/** Reads and changes the pauses of agents. What a pause does to the queue is in schema/pause-functions.ts. */
import { isoText } from "../../../iso-time.js";
import { quote } from "../../../errors.js";
import { type AgentPause, checkPause, type PauseDecision, pauseEndMs, readPause } from "../../agent-pause.js";
import { StateError } from "../../errors.js";
import { isConflict, type Statements } from "../connection/database.js";
import { columnText, textOfColumn } from "./column-text.js";

/** Conflicts with other writers are over after a few attempts, unless something is wrong. */
const MOST_TRIES = 100;

/** The agents that are paused at `now`, by the database's time where that is null. */
export async function readPauses(
  { schema, query }: Statements,
  now: string | null,
): Promise<ReadonlyMap<string, AgentPause>> {
  const rows = await query({
    text: `select a.name, a.pause from ${schema}.agents a
      where a.held_until > coalesce($1, clock_timestamp()) order by a.id`,
    values: [now],
  });
  const pauses = new Map<string, AgentPause>();
  for (const { name, pause: text } of rows) {
    const pause = pauseIn(text);
    if (pause !== undefined) pauses.set(textOfColumn(String(name)), pause);
  }
  return pauses;
}

/** Decides on the pause as it was read, and writes only if it is still the same. */
export async function changePause(
  { schema, query }: Statements,
  now: string | null,
  agent: string,
  decide: PauseDecision,
): Promise<AgentPause | undefined> {
  for (let tries = 1; tries <= MOST_TRIES; tries++) {
    const [row] = await query({
      text: `select a.pause from ${schema}.agents a where a.name = $1`,
      values: [columnText(agent)],
    });
    const before = row?.["pause"] ?? null;
    const decided = decide(pauseIn(before));
    if (decided === undefined) return pauseIn(before);
    const pause = decided === null ? undefined : checkPause(decided);
    const values = [columnText(agent), before, ...columnsOf(pause), now];
    try {
      const [reply] = await query({
        text: `select ${schema}.set_pause($1, $2, $3, $4, $5) as is_written`,
        values,
      });
      if (reply?.["is_written"] === true) return pause;
    } catch (error) {
      if (!isConflict(error)) throw error;
    }
  }
  throw new StateError(
    `Could not pause agent ${quote(agent)}: its pause has changed before each of ${MOST_TRIES} attempts to write it.`,
    { code: "STATE_DATABASE" },
  );
}

/** The pause as text, and when it ends. */
function columnsOf(pause: AgentPause | undefined): [text: string | null, until: string | null] {
  if (pause === undefined) return [null, null];
  const endMs = pauseEndMs(pause);
  return [columnText(JSON.stringify(pause)), endMs === Infinity ? "infinity" : isoText(new Date(endMs))];
}

/** A text that cannot be read still holds the agent back. */
function pauseIn(text: unknown): AgentPause | undefined {
  if (typeof text !== "string") return undefined;
  try {
    return readPause(JSON.parse(textOfColumn(text)));
  } catch {
    return readPause(text);
  }
}
