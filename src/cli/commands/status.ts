/** `rota status`: whether the fleet is healthy, as text, as JSON and as an exit code for monitoring. */
import { isoTimeMs } from "../../iso-time.js";
import { isAutomatic } from "../../scheduler/timing/schedule.js";
import type { Call, Command } from "../command.js";
import { EXIT, type ExitCode } from "../exit-codes.js";
import {
  type Fleet,
  type FleetSchedule,
  hasLiveScheduler,
  loadsOf,
  nameOf,
  readFleet,
} from "../fleet/fleet.js";
import { counted } from "../format/counted.js";
import {
  type DisplayStatus,
  displayStatus,
  isPausedIndefinitely,
  nextRunOf,
  pauseText,
  whyOf,
} from "../format/plan.js";
import { formatLiveSchedulers, formatScheduler } from "../format/schedulers.js";
import { oneLine } from "../format/text-width.js";
import { relativeTime, shortDuration } from "../format/when.js";

/** A slot that is late by more than this is worth a warning. */
const OVERDUE_MS = 60_000;
const MOST_WARNINGS = 20;

export const statusCommand: Command = {
  name: "status",
  summary: "Say whether the fleet is healthy: its schedulers, its schedules, and what needs attention.",
  details: [
    "The exit code is 0 when all is well, and 4 when there is a warning: no scheduler runs although schedules wait for one, a " +
      "scheduler has gone silent, a schedule fails, or a slot is overdue by more than a minute.",
  ],
  examples: [
    { command: "rota status", comment: "is all well?" },
    { command: "rota status --json || alert", comment: "for monitoring" },
  ],
  run: status,
};

interface Warning {
  /** A schedule, or "scheduler". */
  readonly about: string;
  readonly message: string;
}

async function status(call: Call): Promise<ExitCode> {
  const { isJson, output } = call;
  await using fleet = await readFleet(call);
  const { now, location, schedulers } = fleet;
  const known = fleet.schedules.filter(({ origin }) => fleet.config === undefined || origin !== "state-only");
  const warnings = [
    ...schedulerWarnings(fleet, known),
    ...agentWarnings(known),
    ...(await scheduleWarnings(fleet, known)),
  ];
  const counts = countsOf(known, now);
  if (isJson)
    output.json({
      status: warnings.length === 0 ? "healthy" : "warned",
      location: location.name,
      schedulers: schedulers.map(({ name, host, pid, since, seenAt, isAlive }) => ({
        name: name ?? null,
        host,
        pid,
        started_at: since?.toISOString() ?? null,
        seen_at: seenAt.toISOString(),
        alive: isAlive,
      })),
      schedules: { total: known.length, ...counts },
      warnings,
    });
  else {
    const who = formatLiveSchedulers(schedulers, now) ?? `No scheduler runs on ${location.name}`;
    const others = Object.entries(counts).flatMap(([name, count]) =>
      count === 0 ? [] : [`, ${count} ${name}`],
    );
    const isWell = warnings.length === 0;
    const word = output.paint(isWell ? "green" : "yellow", isWell ? "healthy" : "warned");
    output.line(`${word}: ${counted(known.length, "schedule")}${others.join("")}. ${who}.`);
    for (const { about, message } of warnings.slice(0, MOST_WARNINGS))
      output.line(`${output.paint("yellow", "!")} ${oneLine(about)}: ${oneLine(message)}`);
    const rest = warnings.length - MOST_WARNINGS;
    if (rest > 0) output.line(`! and ${counted(rest, "more warning")}`);
  }
  return warnings.length === 0 ? EXIT.ok : EXIT.warned;
}

function schedulerWarnings(fleet: Fleet, known: readonly FleetSchedule[]): readonly Warning[] {
  const { schedulers, now, location } = fleet;
  const about = "scheduler";
  const gone = schedulers
    .filter(({ isAlive }) => !isAlive)
    .map((one) => ({
      about,
      message: `${formatScheduler(one)}, is gone: last seen ${relativeTime(one.seenAt, now)}`,
    }));
  const waiting = known.filter((schedule) => needsScheduler(schedule, now)).length;
  if (hasLiveScheduler(fleet) || waiting === 0) return gone;
  const message = `none runs on ${location.name}, and ${counted(waiting, "schedule")} wait for one`;
  return [...gone, { about, message: waiting === 1 ? message.replace("wait for", "waits for") : message }];
}

/** Agents that were paused by something else than a person. */
function agentWarnings(known: readonly FleetSchedule[]): readonly Warning[] {
  const pauses = new Map(known.map(({ agent, pause }) => [agent, pause]));
  return Array.from(pauses).flatMap(([about, pause]) =>
    pause === undefined || pause.by === "user" ? [] : [{ about, message: pauseText(pause) }],
  );
}

/** Whether it runs at its own times, and nothing keeps it from that but a missing scheduler. */
function needsScheduler(schedule: FleetSchedule, now: Date): boolean {
  const { definition, state, origin } = schedule;
  if (
    origin === "switched-off" ||
    displayStatus(schedule, now) === "disabled" ||
    isPausedIndefinitely(schedule)
  )
    return false;
  if (definition === undefined) return state.next_run_at != null;
  if (definition.type === "once")
    return (isoTimeMs(definition.at) ?? 0) > now.getTime() || state.next_run_at != null;
  return isAutomatic(definition);
}

async function scheduleWarnings(fleet: Fleet, known: readonly FleetSchedule[]): Promise<readonly Warning[]> {
  const { now, connection } = fleet;
  const orphans = await connection.orphans();
  const loads = loadsOf(fleet);
  const isSchedulerRunning = hasLiveScheduler(fleet);
  return known.flatMap((schedule) => {
    const about = nameOf(schedule);
    const { failure_count, last_error } = schedule.state;
    if ((failure_count ?? 0) > 0 && displayStatus(schedule, now) !== "disabled") {
      const times = failure_count === 1 ? "its last job failed" : `${failure_count} failures in a row`;
      return [{ about, message: `${times}${last_error == null ? "" : `: ${last_error}`}` }];
    }
    const lateMs = now.getTime() - (nextRunOf(schedule, now)?.getTime() ?? Infinity);
    // Without a scheduler all are overdue, and one warning says so.
    if (!isSchedulerRunning || lateMs < OVERDUE_MS) return [];
    const load = loads.get(schedule.agent);
    const why = whyOf(schedule, { now, isSchedulerRunning, isOrphan: orphans.has(schedule), load });
    return [{ about, message: `overdue by ${shortDuration(lateMs)}: ${why}` }];
  });
}

function countsOf(
  known: readonly FleetSchedule[],
  now: Date,
): Readonly<Record<Exclude<DisplayStatus, "idle">, number>> {
  const count = (wanted: DisplayStatus): number =>
    known.filter((one) => displayStatus(one, now) === wanted).length;
  return {
    running: count("running"),
    failing: count("failing"),
    paused: count("paused"),
    disabled: count("disabled"),
  };
}
