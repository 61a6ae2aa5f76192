/** `rota describe`: everything about a schedule, about all schedules of an agent, or about a job (describe-job.ts). */
import type { Fields } from "../../fields.js";
import { isoTimeMs } from "../../iso-time.js";
import { backfillProgress } from "../../scheduler/control/backfill.js";
import type { Plan } from "../../scheduler/planning/governor.js";
import type { JobRecord } from "../../state/job-log/job-log.js";
import type { Argument, Call, Command } from "../command.js";
import { agentDefinition, formatFields, scheduleDefinition, secretVariables } from "../format/definition.js";
import { counted } from "../format/counted.js";
import { EXIT, type ExitCode } from "../exit-codes.js";
import { findJobById } from "../fleet/find-job.js";
import { findTargets } from "../fleet/find-target.js";
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
  type Pausable,
  pausedUntil,
  displayStatus,
  STATUS_STYLES,
  formatTime,
  whyOf,
} from "../format/plan.js";
import { oneLine } from "../format/text-width.js";
import { zonedTime } from "../format/when.js";
import { tookText } from "../format/job.js";
import { progressText } from "../format/backfill.js";
import { describeJob } from "./describe-job.js";

const RUNS_SHOWN = 5;
const JOBS_SHOWN = 5;
const LABEL_WIDTH = 14;

const SUBJECT: Argument = {
  name: "agent/schedule or job",
  isRequired: true,
  summary: "The schedule; or an agent, for all of its schedules; or a job's id or the end of it.",
  completion: "schedule",
};

export const describeCommand: Command = {
  name: "describe",
  summary:
    "Show everything about a schedule, with its next runs and last jobs; or about a job, and why it ran.",
  details: [
    "Values that may hold a password are hidden: variables, headers, bodies, paths of URLs, and arguments that follow a flag " +
      "such as --token, look like a key, or contain the value of a variable of the environment.",
  ],
  arguments: [SUBJECT],
  examples: [
    { command: "rota describe reports/nightly", comment: "one schedule" },
    { command: "rota describe reports --json", comment: "all schedules of an agent, for a program" },
    {
      command: "rota describe job-2026-11-15-k3x9qa7c",
      comment: "one job: its slot, its reason, its attempt, its end and its last lines",
    },
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
  const job = await jobNamed(fleet, args[0] ?? "");
  if (job !== undefined) {
    await describeJob(call, connection, job);
    return EXIT.ok;
  }
  const targets = findTargets(fleet.schedules, args[0] ?? "");
  const orphans = await connection.orphans();
  const descriptions: Description[] = [];
  for (const schedule of targets) {
    const { agent, schedule: name } = schedule;
    const jobs = await connection.store.jobs.list({ agent, schedule: name, limit: JOBS_SHOWN });
    descriptions.push(descriptionOf(schedule, fleet, { jobs, isOrphan: orphans.has(schedule) }));
  }
  const secrets = secretVariables(call.context.env);
  if (isJson) output.json(descriptions.map((description) => jsonOf(description, now, secrets)));
  else
    for (const [index, description] of descriptions.entries()) {
      if (index > 0) output.line();
      write(call, description, now, secrets);
    }
  return EXIT.ok;
}

/** The job that a text names by its id or the end of it; `undefined` when it names a schedule, or nothing. */
async function jobNamed({ schedules, connection }: Fleet, text: string): Promise<JobRecord | undefined> {
  const isKnown = schedules.some((key) => key.agent === text || nameOf(key) === text);
  return isKnown ? undefined : findJobById(connection.store.jobs, text);
}

interface Asked {
  readonly jobs: readonly JobRecord[];
  readonly isOrphan: boolean;
}

function descriptionOf(schedule: FleetSchedule, fleet: Fleet, { jobs, isOrphan }: Asked): Description {
  const { definition, state, pause } = schedule;
  const { now } = fleet;
  const about = {
    now,
    isSchedulerRunning: hasLiveScheduler(fleet),
    isOrphan,
    load: loadsOf(fleet).get(schedule.agent),
  };
  const runs = definition === undefined ? [] : forecast({ definition, state, pause, now, count: RUNS_SHOWN });
  return { schedule, why: whyOf(schedule, about), runs, jobs };
}

function write(
  { output }: Call,
  { schedule, why, runs, jobs }: Description,
  now: Date,
  secrets: readonly string[],
): void {
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
  say("Agent", agent === undefined ? undefined : formatFields(agentDefinition(agent, secrets)));
  say("Definition", definition === undefined ? undefined : formatFields(scheduleDefinition(definition)));
  const nextRunAt = nextRunOf(schedule, now);
  say(
    "Next run",
    nextRunAt === undefined
      ? undefined
      : `${formatTime(nextRunAt, now, zone)}, ${state.next_run_source ?? "not planned"}`,
  );
  for (const [name, text] of stateLines(schedule, now)) say(name, text);
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

function stateLines(schedule: Pausable, now: Date): readonly (readonly [string, string | undefined])[] {
  const { state } = schedule;
  const { failure_count, hint, last_error, missed_count } = state;
  const until = pausedUntil(schedule, now);
  const backfill = backfillProgress(state);
  const pause =
    until === undefined
      ? undefined
      : isPausedIndefinitely(schedule)
        ? "until it is resumed"
        : `until ${formatTime(until, now)}`;
  const missed = `${missed_count ?? 0}${state.last_missed_at == null ? "" : `, the last at ${shownTime(state.last_missed_at, now)}`}`;
  return [
    ["Last run", shownTime(state.last_run_at, now)],
    ["Last end", shownTime(state.last_completed_at, now)],
    ["Last error", last_error ?? undefined],
    ["Failures", (failure_count ?? 0) > 0 ? `${failure_count} in a row` : undefined],
    [
      "Given up",
      (state.abandoned_count ?? 0) > 0 ? `${state.abandoned_count} after interruptions` : undefined,
    ],
    [
      "No work",
      state.last_no_work_at == null
        ? undefined
        : `${counted(state.no_work_count ?? 1, "time")}, the last at ${shownTime(state.last_no_work_at, now)}`,
    ],
    ["Missed", (missed_count ?? 0) > 0 ? missed : undefined],
    ["Paused", pause],
    ["Backfill", backfill === undefined ? undefined : progressText(backfill)],
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

function jsonOf({ schedule, why, runs, jobs }: Description, now: Date, secrets: readonly string[]): Fields {
  const { agent, agentDefinition: definedAgent, definition, origin, state } = schedule;
  return {
    agent,
    schedule: schedule.schedule,
    status: displayStatus(schedule, now),
    why,
    origin,
    agent_definition: definedAgent === undefined ? null : agentDefinition(definedAgent, secrets),
    definition: definition === undefined ? null : scheduleDefinition(definition),
    state,
    agent_pause: schedule.pause ?? null,
    next_runs: runs.map(({ nextRunAt, source }) => ({ at: nextRunAt.toISOString(), source })),
    last_jobs: jobs,
  };
}
