/** Checks that the database is reachable, its schema and rights suffice, and lists its clock and nodes. */
import type { Clock } from "../../clock.js";
import { messageOf } from "../../errors.js";
import type { Logger } from "../../logger.js";
import { listNodes, type NodeRecord } from "../../state/postgres/node/list-nodes.js";
import { requireOwnSessions } from "../../state/postgres/connection/own-sessions.js";
import { SCHEMA_VERSION } from "../../state/postgres/schema/migrate.js";
import { counted, shortList } from "../format/counted.js";
import type { DatabaseLocation, DatabaseSession } from "../location/database-location.js";
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

/** A difference of clocks that is not worth a remark. */
const SMALL_DIFFERENCE_MS = 1_000;
/** More names would not help the reader. */
const MOST_NAMES = 5;

const silent: Logger = { info: () => {}, warn: () => {}, error: () => {} };

export async function checkDatabase(
  location: Pick<DatabaseLocation, "name" | "openSession">,
  clock: Clock,
): Promise<readonly Finding[]> {
  let session: DatabaseSession;
  const askedMs = clock.monotonic();
  try {
    session = await location.openSession(silent);
  } catch (error) {
    const message = messageOf(error);
    return [isDenied(error) ? failure("rights", `${message}: ${ASK_OWNER}`) : failure("database", message)];
  }
  await using _ = session;
  const { database, now, version } = session;
  const tookMs = clock.monotonic() - askedMs;
  try {
    await requireOwnSessions(database.pool);
  } catch (error) {
    return [failure("database", messageOf(error))];
  }
  const facts = await readFacts(database);
  const findings = [
    judgeServer(location.name, facts),
    judgeClocks(now, clock.now(), tookMs),
    judgeSchema(database.schemaName, version, facts),
  ];
  if (version !== SCHEMA_VERSION) return findings;
  const rights = judgeRights(facts.user, await missingRights(database));
  findings.push(rights);
  if (rights.verdict === "failure") return findings;
  return [...findings, ...judgeNodes(await listNodes(database, { leaseNow: leaseNowOf(clock) }), now)];
}

/** Whether the server refused the read for lack of rights. */
function isDenied(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof Error && "code" in cause && cause.code === "42501";
}

/** Never a warning: the database's clock decides what is due, so a difference has no effect. */
export function judgeClocks(theirs: Date, ours: Date, tookMs: number): Finding {
  const differenceMs = ours.getTime() - theirs.getTime();
  if (Math.abs(differenceMs) <= SMALL_DIFFERENCE_MS + tookMs)
    return fine("database clock", theirs.toISOString());
  const how = `${shortDuration(Math.abs(differenceMs))} ${differenceMs > 0 ? "ahead of" : "behind"}`;
  return fine(
    "database clock",
    `${theirs.toISOString()}: this machine's clock is ${how} it. The database's clock decides what is due`,
  );
}

export function judgeNodes(nodes: readonly NodeRecord[], now: Date): readonly Finding[] {
  const about = "nodes";
  const late = nodes.filter(({ isLate }) => isLate);
  const living = nodes.length - late.length;
  const shown = late.map(({ name, seenAt }) => `${oneLine(name)} ${relativeTime(seenAt, now)}`);
  const areGone = living === 0 && late.length > 0;
  return [
    areGone
      ? failure(about, "no node is alive, and none signed off: start one again")
      : fine(about, living === 0 ? "none is running" : `${counted(living, "node")} alive`),
    ...(late.length === 0
      ? []
      : [
          warning(
            about,
            `last seen ${shortList(shown, MOST_NAMES)}: gone, stopped, or cut off from the database`,
          ),
        ]),
  ];
}
