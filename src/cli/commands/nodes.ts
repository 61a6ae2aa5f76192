/** `rota nodes`: the schedulers that share a database, with their last heartbeats. */
import type { NodeRecord } from "../../state/postgres/node/list-nodes.js";
import type { Call, Command } from "../command.js";
import { counted } from "../format/counted.js";
import { EXIT, type ExitCode } from "../exit-codes.js";
import { messageLogger } from "../fleet/fleet.js";
import { requiredDatabase } from "../location/locate.js";
import type { Cell, Column } from "../format/table.js";
import { relativeTime, timeCell } from "../format/when.js";

const COLUMNS: readonly Column[] = [
  { title: "NAME" },
  { title: "HOST", cutTo: 10, dropAs: 2 },
  { title: "PID", align: "right" },
  { title: "STARTED", dropAs: 1 },
  { title: "SEEN", align: "right" },
  { title: "JOBS", align: "right" },
  { title: "STATUS" },
];

export const nodesCommand: Command = {
  name: "nodes",
  summary:
    "List the schedulers that share a database: when each started, when it was last seen, and how many jobs it has.",
  details: [
    "A node is late when it has sent no heartbeat for the duration of its leases (30 s by default): it is gone, stopped, " +
      "or cut off from the database. The other nodes take over its slots when its leases expire, and its entry is " +
      "removed later.",
  ],
  examples: [
    { command: "rota nodes --database-url postgres://rota@db/app", comment: "the nodes of a fleet" },
    { command: "rota nodes --json", comment: "the nodes on ROTA_DATABASE_URL, for a program" },
  ],
  run: nodes,
};

async function nodes(call: Call): Promise<ExitCode> {
  const { context, isJson, output } = call;
  const location = await requiredDatabase(call);
  await using connection = await location.connect({ clock: context.clock, logger: messageLogger(call) });
  const found = await connection.nodes();
  const now = connection.clock.now();
  if (isJson) output.json(found.map(jsonOf));
  else if (found.length === 0) output.message(`No scheduler runs on ${location.name}.`);
  else {
    output.table(
      COLUMNS,
      found.map((node) => cellsOf(node, now)),
    );
    const late = found.filter(({ isLate }) => isLate).length;
    output.message(
      `${counted(found.length, "node")}${late === 0 ? "" : `, ${late} late`} on ${location.name}.`,
    );
  }
  return EXIT.ok;
}

function cellsOf({ name, host, pid, startedAt, seenAt, isLate, claimCount }: NodeRecord, now: Date): Cell[] {
  return [
    name,
    host,
    String(pid),
    timeCell(startedAt),
    relativeTime(seenAt, now),
    String(claimCount),
    isLate ? { text: "late", style: "red" } : { text: "alive", style: "green" },
  ];
}

function jsonOf({ name, host, pid, startedAt, seenAt, isLate, claimCount }: NodeRecord): unknown {
  return {
    name,
    host,
    pid,
    started_at: startedAt.toISOString(),
    seen_at: seenAt.toISOString(),
    late: isLate,
    claims: claimCount,
  };
}
