/**
 * The lines of the live view: a table of schedules (status, next run, last run, reason) and a footer with totals.
 * Pure: screen.ts draws them.
 */
import { spinnerFrame } from "../format/spinner.js";
import { stripVTControlCharacters } from "node:util";
import { capacityOf } from "../../scheduler/agent.js";
import { isoTimeMs } from "../../iso-time.js";
import { type FleetSchedule, nameOf } from "../fleet/fleet.js";
import { shortIds } from "../format/job.js";
import { displayStatus, nextRunOf, STATUS_STYLES, whyOf } from "../format/plan.js";
import type { Paint, Style } from "../format/style.js";
import { type Cell, type Column, tableLines } from "../format/table.js";
import { cutToWidth, oneLine, textWidth } from "../format/text-width.js";
import { relativeTime, shortDuration, zonedTime } from "../format/when.js";
import type { RunView } from "./run-model.js";
import { counted } from "../format/counted.js";

export interface ViewTime {
  readonly now: Date;
  readonly monotonicMs: number;
}

export interface ViewSize {
  readonly columns: number;
  readonly rows: number;
}

/** How long one spinner frame lasts. */
export const SPIN_MS = 125;

const COLUMNS: readonly Column[] = [
  { title: "AGENT/SCHEDULE" },
  { title: "STATUS", minWidth: "⠋ running 9m 59s".length },
  { title: "NEXT", dropAs: 1 },
  { title: "IN", align: "right", minWidth: "9m 59s".length, dropAs: 4 },
  { title: "LAST", cutTo: 10, minWidth: "completed 59s ago".length, dropAs: 3 },
  { title: "WHY", cutTo: 8, dropAs: 2 },
];

/** Fewer lines than the terminal has rows, each narrower than the terminal, because a full line may wrap. */
export function viewOf(view: RunView, time: ViewTime, { columns, rows }: ViewSize, paint: Paint): string[] {
  const width = Math.max(1, columns - 1);
  const footer = cutToWidth(footerOf(view, time), width);
  // Four rows: an empty line, the titles, the footer, and one row for the lines that scroll by.
  const room = rows - 4;
  if (room < 1 || view.schedules.length === 0) return [footer];
  const isWhole = view.schedules.length <= room;
  const shown = isWhole ? view.schedules : mostWanted(view, time.now, room - 1);
  const running = runningByAgent(view);
  const cells = shown.map((schedule) => cellsOf(schedule, { view, time, running }));
  const lines = tableLines(COLUMNS, cells, { width, paint });
  const rest = view.schedules.length - shown.length;
  if (rest > 0) lines.push(paint("dim", cutToWidth(`… and ${rest} more`, width)));
  return ["", ...lines.map((line) => fitted(line, width)), paint("dim", footer)];
}

/** Some columns are never cut. A line that is still too wide is cut here and loses its colours. */
function fitted(line: string, width: number): string {
  const text = stripVTControlCharacters(line);
  return textWidth(text) <= width ? line : cutToWidth(text, width);
}

/** The schedules to show when not all fit: running first, then by next run. */
function mostWanted(view: RunView, now: Date, count: number): readonly FleetSchedule[] {
  const rank = (schedule: FleetSchedule): number =>
    view.running.has(nameOf(schedule)) ? -Infinity : (nextRunOf(schedule, now)?.getTime() ?? Infinity);
  const ranked = view.schedules.map((schedule) => ({ schedule, rank: rank(schedule) }));
  ranked.sort((one, other) => (one.rank === other.rank ? 0 : one.rank - other.rank));
  return ranked.slice(0, count).map(({ schedule }) => schedule);
}

function runningByAgent({ running }: RunView): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { agent } of running.values()) counts.set(agent, (counts.get(agent) ?? 0) + 1);
  return counts;
}

interface RowContext {
  readonly view: RunView;
  readonly time: ViewTime;
  readonly running: ReadonlyMap<string, number>;
}

function cellsOf(schedule: FleetSchedule, { view, time, running }: RowContext): Cell[] {
  const { now, monotonicMs } = time;
  const name = nameOf(schedule);
  const job = view.running.get(name);
  const status = job === undefined ? displayStatus(schedule, now) : "running";
  const nextRunAt = job === undefined ? nextRunOf(schedule, now) : undefined;
  const most = schedule.agentDefinition === undefined ? undefined : capacityOf(schedule.agentDefinition);
  const load = { running: running.get(schedule.agent) ?? 0, most };
  const statusText =
    job === undefined
      ? status
      : `${spinnerAt(monotonicMs)} ${status} ${wholeSeconds(monotonicMs - job.startedMs)}`;
  return [
    name,
    { text: statusText, style: STATUS_STYLES[status] },
    nextRunAt === undefined ? "-" : clockTime(nextRunAt, now),
    nextRunAt === undefined ? "-" : countdown(nextRunAt.getTime() - now.getTime()),
    lastCell(schedule, view, now),
    job === undefined
      ? whyOf(schedule, { now, isSchedulerRunning: true, load })
      : { text: job.jobId, short: shortIds(job.jobId), isWhole: true },
  ];
}

function spinnerAt(monotonicMs: number): string {
  return spinnerFrame(Math.floor(monotonicMs / SPIN_MS));
}

/** How the last run ended, from this process's notices or else from the state. */
function lastCell({ agent, schedule, state }: FleetSchedule, { last }: RunView, now: Date): Cell {
  const seen = last.get(nameOf({ agent, schedule }));
  const endedMs = isoTimeMs(state.last_completed_at) ?? isoTimeMs(state.last_run_at);
  const endedAt = seen?.endedAt ?? (endedMs === undefined ? undefined : new Date(endedMs));
  if (endedAt === undefined) return "-";
  const error = seen === undefined ? (state.last_error ?? undefined) : seen.error;
  const status = seen?.status ?? (error === undefined ? "completed" : "failed");
  const style: Style = status === "completed" ? "green" : "red";
  const when = `${status} ${relativeTime(endedAt, now)}`;
  return { text: error === undefined ? when : `${when}: ${error}`, style, short: when };
}

/** The time of day, with the date unless it is today. */
function clockTime(at: Date, now: Date): string {
  const [date = "", time = ""] = zonedTime(at).slice(0, "2026-03-01T13:00:00".length).split("T");
  return zonedTime(now).startsWith(date) ? time : `${date.slice("2026-".length)} ${time}`;
}

/** Rounded up, so that it reaches 0 only when due. */
function countdown(ms: number): string {
  return ms <= 0 ? "now" : wholeSeconds(Math.ceil(ms / 1000) * 1000);
}

function wholeSeconds(ms: number): string {
  return ms < 1000 ? "0s" : shortDuration(ms);
}

function footerOf(view: RunView, { monotonicMs, now }: ViewTime): string {
  const { schedules, running, finishedCount, failedCount, stopsAtMs } = view;
  const jobs = `${finishedCount} done, ${failedCount} failed`;
  if (stopsAtMs !== undefined) {
    const left = Math.max(0, stopsAtMs - monotonicMs);
    const wait = left > 0 ? `to be cancelled in ${countdown(left)}` : "being cancelled";
    return `Stopping: ${running.size} running, ${wait}. Ctrl-C again exits immediately.`;
  }
  const statuses = schedules.map((schedule) => displayStatus(schedule, now));
  const others = (["failing", "paused", "disabled"] as const).flatMap((status) => {
    const count = statuses.filter((one) => one === status).length;
    return count === 0 ? [] : [`, ${count} ${status}`];
  });
  const what = `${counted(schedules.length, "schedule")}: ${running.size} running${others.join("")}`;
  const up = wholeSeconds(monotonicMs - view.startedMs);
  return oneLine(`${what} | jobs: ${jobs} | up ${up} | ${view.location}`);
}
