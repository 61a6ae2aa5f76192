/** `rota list`: every schedule with its next and last run, and the reason of its plan or what blocks it. */
import { isoTimeMs } from "../../iso-time.js";
import { type Argument, type Call, type Command, flag } from "../command.js";
import { counted } from "../format/counted.js";
import { EXIT, type ExitCode } from "../exit-codes.js";
import { findTargets } from "../fleet/find-target.js";
import {
  type Fleet,
  type FleetSchedule,
  hasLiveScheduler,
  loadsOf,
  nameOf,
  readFleet,
} from "../fleet/fleet.js";
import { shortIds } from "../format/job.js";
import { formatLiveSchedulers } from "../format/schedulers.js";
import {
  nextRunOf,
  type DisplayStatus,
  displayStatus,
  type PlanContext,
  STATUS_STYLES,
  whyOf,
} from "../format/plan.js";
import type { Cell, Column } from "../format/table.js";
import { oneLine } from "../format/text-width.js";
import { relativeTime, shortDuration, timeCell } from "../format/when.js";

const AGENT: Argument = {
  name: "agent",
  isRequired: false,
  summary: "Only this agent, or this agent/schedule.",
  completion: "schedule",
};
const ALL = flag("all", { short: "a", summary: "Include schedules that exist only in the state." });
const NAMES = flag("names", { summary: "Print only agent/schedule, one per line." });

const COLUMNS: readonly Column[] = [
  { title: "NEXT", dropAs: 2 },
  { title: "IN", align: "right", dropAs: 4 },
  { title: "LAST", dropAs: 1 },
  { title: "AGO", align: "right", dropAs: 3 },
  { title: "STATUS" },
  { title: "AGENT/SCHEDULE" },
  { title: "WHY", cutTo: 8, dropAs: 5 },
];

export const listCommand: Command = {
  name: "list",
  summary: "List schedules: when each runs next, when it ran last, and why.",
  arguments: [AGENT],
  options: [ALL, NAMES],
  examples: [
    { command: "rota list", comment: "every schedule, the next to run first" },
    { command: "rota list reports --json", comment: "the schedules of one agent, for a program" },
  ],
  run: list,
};

interface Row {
  readonly schedule: FleetSchedule;
  readonly status: DisplayStatus;
  readonly nextRunAt: Date | undefined;
  readonly lastRunAt: Date | undefined;
  readonly why: string;
}

async function list(call: Call): Promise<ExitCode> {
  const { args, isJson, output, option } = call;
  await using fleet = await readFleet(call);
  const { now } = fleet;
  const isWhole = option(ALL) || fleet.config === undefined;
  const known = fleet.schedules.filter(({ origin }) => isWhole || origin !== "state-only");
  const wanted = args[0] === undefined ? known : findTargets(known, args[0]);
  const isSchedulerRunning = hasLiveScheduler(fleet);
  const orphans = await fleet.connection.orphans();
  const loads = loadsOf(fleet);
  const rows = wanted
    .map((schedule) => {
      const load = loads.get(schedule.agent);
      return rowOf(schedule, { now, isSchedulerRunning, isOrphan: orphans.has(schedule), load });
    })
    .toSorted(byNextRun);
  if (option(NAMES)) for (const name of wanted.map(nameOf)) output.line(oneLine(name));
  else if (isJson) output.json(rows.map(jsonOf));
  else {
    output.table(
      COLUMNS,
      rows.map((row) => cellsOf(row, now)),
    );
    output.message(footer(rows.length, fleet));
  }
  return EXIT.ok;
}

function rowOf(schedule: FleetSchedule, about: PlanContext): Row {
  const lastMs = isoTimeMs(schedule.state.last_run_at);
  return {
    schedule,
    status: displayStatus(schedule, about.now),
    nextRunAt: nextRunOf(schedule, about.now),
    lastRunAt: lastMs === undefined ? undefined : new Date(lastMs),
    why: whyOf(schedule, about),
  };
}

/** Running schedules first, then by next run, then schedules without one; ties keep the order of definition. */
function byNextRun(one: Row, other: Row): number {
  const rank = ({ status, nextRunAt }: Row): number =>
    status === "running" ? -Infinity : (nextRunAt?.getTime() ?? Infinity);
  const [a, b] = [rank(one), rank(other)];
  return a === b ? 0 : a - b;
}

function cellsOf({ schedule, status, nextRunAt, lastRunAt, why }: Row, now: Date): Cell[] {
  return [
    timeCell(nextRunAt),
    nextRunAt === undefined ? "-" : untilText(nextRunAt, now),
    timeCell(lastRunAt),
    lastRunAt === undefined ? "-" : relativeTime(lastRunAt, now),
    { text: status, style: STATUS_STYLES[status] },
    nameOf(schedule),
    // It contains the job's id, which the end of the id stands for on a narrow terminal.
    status === "running" ? { text: why, short: shortIds(why), isWhole: true } : why,
  ];
}

function untilText(at: Date, now: Date): string {
  return at.getTime() > now.getTime() ? shortDuration(at.getTime() - now.getTime()) : relativeTime(at, now);
}

function footer(count: number, { schedulers, location, now }: Fleet): string {
  const who = formatLiveSchedulers(schedulers, now) ?? `No scheduler runs on ${location.name}`;
  return `${counted(count, "schedule")}. ${who}.`;
}

function jsonOf({ schedule, status, nextRunAt, lastRunAt, why }: Row): unknown {
  const { agent, schedule: name, state, pause } = schedule;
  const isHeld = pause !== undefined && state.next_run_at != null;
  return {
    agent,
    schedule: name,
    status,
    next_run_at: nextRunAt?.toISOString() ?? null,
    next_run_source: isHeld ? "paused" : (state.next_run_source ?? null),
    last_run_at: lastRunAt?.toISOString() ?? null,
    last_error: state.last_error ?? null,
    failure_count: state.failure_count ?? 0,
    abandoned_count: state.abandoned_count ?? 0,
    missed_count: state.missed_count ?? 0,
    paused_until: state.paused_until ?? null,
    agent_pause: pause ?? null,
    hint: state.hint ?? null,
    job: status === "running" ? (state.claim?.job_id ?? null) : null,
    why,
  };
}
