/** `rota describe`: everything about a schedule, or about all schedules of an agent. */
import type { Fields } from "../../fields.js";
import { isoTimeMs } from "../../iso-time.js";
import type { Plan } from "../../scheduler/planning/governor.js";
import type { JobRecord } from "../../state/job-log/job-log.js";
import type { ScheduleState } from "../../state/schedule-state.js";
import type { Call, Command } from "../command.js";
import { agentDefinition, formatFields, scheduleDefinition } from "../format/definition.js";
import { EXIT, type ExitCode } from "../exit-codes.js";
import { findTargets, TARGET } from "../fleet/find-target.js";
import {
  type Fleet,
  type FleetSchedule,
  hasLiveScheduler,
  loadsOf,
  nameOf,
  readFleet,
} from "../fleet/fleet.js";
import { forecast } from "../fleet/forecast.js";
import type { Output } from "../output.js";
import {
  isPausedIndefinitely,
  nextRunOf,
  pausedUntil,
  displayStatus,
  STATUS_STYLES,
  formatTime,
  whyOf,
} from "../format/plan.js";
import { oneLine } from "../format/text-width.js";
import { zonedTime } from "../format/when.js";
import { tookText } from "../format/job.js";

const RUNS_SHOWN = 5;
const JOBS_SHOWN = 5;
const LABEL_WIDTH = 14;

export const describeCommand: Command = {
  name: "describe",
  summary: "Show everything about a schedule: its definition, its state, its next runs and its last jobs.",
  details: ["Values that may hold a password (variables, headers, arguments of commands) are hidden."],
  arguments: [TARGET],
  examples: [
    { command: "rota describe reports/nightly", comment: "one schedule" },
    { command: "rota describe reports --json", comment: "all schedules of an agent, for a program" },
  ],
  run: describe,
};

interface Description {
  readonly schedule: FleetSchedule;
  readonly why: string;
  readonly runs: readonly Plan[];
  readonly jobs: readonly JobRecord[];
}

async function describe(call: Call): Promise<ExitCode> {
  const { args, isJson, output } = call;
  await using fleet = await readFleet(call);
  const { connection, now } = fleet;
  const targets = findTargets(fleet.schedules, args[0] ?? "");
  const orphans = await connection.orphans();
  const descriptions: Description[] = [];
  for (const schedule of targets) {
    const { agent, schedule: name } = schedule;
    const jobs = await connection.store.jobs.list({ agent, schedule: name, limit: JOBS_SHOWN });
    descriptions.push(descriptionOf(schedule, fleet, { jobs, isOrphan: orphans.has(schedule) }));
  }
  if (isJson) output.json(descriptions.map((description) => jsonOf(description, now)));
  else
    for (const [index, description] of descriptions.entries()) {
      if (index > 0) output.line();
      write(call, description, now);
    }
  return EXIT.ok;
}

interface Asked {
  readonly jobs: readonly JobRecord[];
  readonly isOrphan: boolean;
}

function descriptionOf(schedule: FleetSchedule, fleet: Fleet, { jobs, isOrphan }: Asked): Description {
  const { definition, state } = schedule;
  const { now } = fleet;
  const about = {
    now,
    isSchedulerRunning: hasLiveScheduler(fleet),
    isOrphan,
    load: loadsOf(fleet).get(schedule.agent),
  };
  const runs = definition === undefined ? [] : forecast({ definition, state, now, count: RUNS_SHOWN });
  return { schedule, why: whyOf(schedule, about), runs, jobs };
}

function write({ output }: Call, { schedule, why, runs, jobs }: Description, now: Date): void {
  const { agentDefinition: agent, definition, state } = schedule;
  const zone = definition?.type === "cron" ? definition.timezone : undefined;
  const status = displayStatus(schedule, now);
  const style = STATUS_STYLES[status];
  const label = (name: string): string => `  ${output.paint("dim", name.padEnd(LABEL_WIDTH))}`;
  const say = (name: string, text: string | undefined): void => {
    if (text !== undefined) output.line(`${label(name)}${oneLine(text)}`);
  };
  output.line(output.paint("bold", oneLine(nameOf(schedule))));
  const shownStatus = style === undefined ? status : output.paint(style, status);
  // The reason may begin with the status: "running job-…".
  const shownWhy = oneLine(why);
  const reason = shownWhy.startsWith(status) ? shownWhy.slice(status.length) : `: ${shownWhy}`;
  output.line(`${label("Status")}${shownStatus}${reason}`);
  say("Agent", agent === undefined ? undefined : formatFields(agentDefinition(agent)));
  say("Definition", definition === undefined ? undefined : formatFields(scheduleDefinition(definition)));
  const nextRunAt = nextRunOf(schedule, now);
  say(
    "Next run",
    nextRunAt === undefined
      ? undefined
      : `${formatTime(nextRunAt, now, zone)}, ${state.next_run_source ?? "not planned"}`,
  );
  for (const [name, text] of stateLines(state, now)) say(name, text);
  writeList(
    output,
    `Next ${runs.length} runs`,
    runs.map((run) => `${formatTime(run.nextRunAt, now, zone)}, ${run.source}`),
  );
  writeList(
    output,
    "Last jobs",
    jobs.map((job) => jobLine(job, now)),
  );
}

function writeList(output: Output, title: string, lines: readonly string[]): void {
  if (lines.length === 0) return;
  output.line(`  ${output.paint("dim", title)}`);
  for (const one of lines) output.line(`    ${oneLine(one)}`);
}

function stateLines(state: ScheduleState, now: Date): readonly (readonly [string, string | undefined])[] {
  const { failure_count, hint, last_error, missed_count } = state;
  const until = pausedUntil(state, now);
  const pause =
    until === undefined
      ? undefined
      : isPausedIndefinitely(state)
        ? "until it is resumed"
        : `until ${formatTime(until, now)}`;
  const missed = `${missed_count ?? 0}${state.last_missed_at == null ? "" : `, the last at ${shownTime(state.last_missed_at, now)}`}`;
  return [
    ["Last run", shownTime(state.last_run_at, now)],
    ["Last end", shownTime(state.last_completed_at, now)],
    ["Last error", last_error ?? undefined],
    ["Failures", (failure_count ?? 0) > 0 ? `${failure_count} in a row` : undefined],
    ["Missed", (missed_count ?? 0) > 0 ? missed : undefined],
    ["Paused", pause],
    ["Hint", hint == null ? undefined : formatFields({ ...hint })],
  ];
}

function shownTime(text: string | null | undefined, now: Date): string | undefined {
  const ms = isoTimeMs(text);
  return ms === undefined ? undefined : formatTime(new Date(ms), now);
}

function jobLine(job: JobRecord, now: Date): string {
  const started = zonedTime(new Date(isoTimeMs(job.started_at) ?? 0));
  const said = job.error ?? job.summary;
  return `${job.id}  ${started}  ${job.status} ${tookText(job, now)}${said === null ? "" : `  ${said}`}`;
}

function jsonOf({ schedule, why, runs, jobs }: Description, now: Date): Fields {
  const { agent, agentDefinition: definedAgent, definition, origin, state } = schedule;
  return {
    agent,
    schedule: schedule.schedule,
    status: displayStatus(schedule, now),
    why,
    origin,
    agent_definition: definedAgent === undefined ? null : agentDefinition(definedAgent),
    definition: definition === undefined ? null : scheduleDefinition(definition),
    state,
    next_runs: runs.map(({ nextRunAt, source }) => ({ at: nextRunAt.toISOString(), source })),
    last_jobs: jobs,
  };
}
