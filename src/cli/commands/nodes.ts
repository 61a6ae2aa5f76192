/** `rota nodes`: the schedulers that share a database, and when each last showed that it lives. */
import type { NodeRecord } from "../../state/postgres/node/list-nodes.js";
import type { Call, Command } from "../command.js";
import { counted } from "../format/counted.js";
import { EXIT, type ExitCode } from "../exit-codes.js";
import { talkingLogger } from "../fleet/fleet.js";
import { openDatabase, requiredAddress } from "../location/named-database.js";
import type { Cell, Column } from "../format/table.js";
import { timeCell } from "../format/time-cell.js";
import { relativeTime } from "../format/when.js";

const COLUMNS: readonly Column[] = [
  { title: "NAME", cutTo: 10 },
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
    "List the schedulers that share a database: since when, when last seen, and how many jobs each has.",
  details: [
    "A node is late when it has given no sign of life for as long as its leases last (30 s, unless a program says otherwise): it is gone, stopped, or cut off from the database. " +
      "Others take over what it holds when its leases end, and it is forgotten after a while.",
  ],
  examples: [
    { command: "rota nodes --database-url postgres://rota@db/app", says: "who runs the fleet" },
    { command: "rota nodes --json", says: "on DATABASE_URL, for a program" },
  ],
  run: nodes,
};

async function nodes(call: Call): Promise<ExitCode> {
  const { context, isJson, output } = call;
  const place = await openDatabase(requiredAddress(call));
  await using guest = await place.visit({ clock: context.clock, logger: talkingLogger(call) });
  const found = await guest.nodes();
  const now = guest.clock.now();
  if (isJson) output.json(found.map(jsonOf));
  else if (found.length === 0) output.talk(`No scheduler runs on ${place.name}.`);
  else {
    output.table(
      COLUMNS,
      found.map((node) => cellsOf(node, now)),
    );
    const late = found.filter(({ isLate }) => isLate).length;
    output.talk(`${counted(found.length, "node")}${late === 0 ? "" : `, ${late} late`} on ${place.name}.`);
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
