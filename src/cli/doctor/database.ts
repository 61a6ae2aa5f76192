/** Can the database be reached, is it as it has to be, who works on it, and do its clock and ours agree? */
import type { Clock } from "../../clock.js";
import { messageOf } from "../../errors.js";
import type { Logger } from "../../logger.js";
import { listNodes, type NodeRecord } from "../../state/postgres/node/list-nodes.js";
import { SCHEMA_VERSION } from "../../state/postgres/schema/migrate.js";
import { counted } from "../format/counted.js";
import type { DatabasePlace, Reached } from "../location/database-location.js";
import { leaseNowOf } from "../location/lease-now.js";
import { oneLine } from "../format/text-width.js";
import { relativeTime, shortDuration } from "../format/when.js";
import {
  ASK_OWNER,
  judgeRights,
  judgeSchema,
  judgeServer,
  missingRights,
  readFacts,
} from "./database-rights.js";
import { failure, fine, type Finding, warning } from "./finding.js";

/** What clocks may differ by without anybody noticing. */
const SMALL_DIFFERENCE_MS = 1_000;
/** Beyond so many names a list helps nobody. */
const MOST_NAMES = 5;

const silent: Logger = { info: () => {}, warn: () => {}, error: () => {} };

export async function checkDatabase(
  place: Pick<DatabasePlace, "name" | "reach">,
  clock: Clock,
): Promise<readonly Finding[]> {
  let reached: Reached;
  const askedMs = clock.monotonic();
  try {
    reached = await place.reach(silent);
  } catch (error) {
    const message = messageOf(error);
    return [isDenied(error) ? failure("rights", `${message}: ${ASK_OWNER}`) : failure("database", message)];
  }
  await using _ = reached;
  const { database, now, version } = reached;
  const tookMs = clock.monotonic() - askedMs;
  const facts = await readFacts(database);
  const findings = [
    judgeServer(place.name, facts),
    judgeClocks(now, clock.now(), tookMs),
    judgeSchema(database.schemaName, version, facts),
  ];
  if (version !== SCHEMA_VERSION) return findings;
  const rights = judgeRights(facts.user, await missingRights(database));
  findings.push(rights);
  if (rights.verdict === "failure") return findings;
  return [...findings, ...judgeNodes(await listNodes(database, { leaseNow: leaseNowOf(clock) }), now)];
}

/** Whether it was reached, and the user may not even look. */
function isDenied(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof Error && "code" in cause && cause.code === "42501";
}

/** A fact, and no fault: the database's clock decides there, and what this machine's shows has no effect. */
export function judgeClocks(theirs: Date, ours: Date, tookMs: number): Finding {
  const differenceMs = ours.getTime() - theirs.getTime();
  if (Math.abs(differenceMs) <= SMALL_DIFFERENCE_MS + tookMs)
    return fine("database clock", theirs.toISOString());
  const how = `${shortDuration(Math.abs(differenceMs))} ${differenceMs > 0 ? "ahead of" : "behind"}`;
  return fine(
    "database clock",
    `${theirs.toISOString()}: this machine's is ${how} it. The database's decides what is due`,
  );
}

export function judgeNodes(nodes: readonly NodeRecord[], now: Date): readonly Finding[] {
  const about = "nodes";
  const late = nodes.filter(({ isLate }) => isLate);
  const living = nodes.length - late.length;
  const shown = late
    .slice(0, MOST_NAMES)
    .map(({ name, seenAt }) => `${oneLine(name)} ${relativeTime(seenAt, now)}`);
  const more = late.length > MOST_NAMES ? ` and ${late.length - MOST_NAMES} more` : "";
  return [
    fine(about, living === 0 ? "none runs" : `${counted(living, "node")} alive`),
    ...(late.length === 0
      ? []
      : [
          warning(about, `last seen ${shown.join(", ")}${more}: gone, stopped, or cut off from the database`),
        ]),
  ];
}
