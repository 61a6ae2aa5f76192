/** `rota next`: a dry run that shows when a schedule, or a rule on the command line, would run. */
import { quote } from "../../errors.js";
import type { AgentSchedule } from "../../scheduler/agent.js";
import type { Plan } from "../../scheduler/planning/governor.js";
import { validateSchedule } from "../../scheduler/timing/schedule.js";
import type { AgentPause } from "../../state/agent-pause.js";
import type { ScheduleState } from "../../state/schedule-state.js";
import { clockChangeRemark } from "../format/clock-change.js";
import { type Argument, type Call, type Command, countOption, textOption } from "../command.js";
import { asUsage, usageError } from "../errors.js";
import { EXIT, type ExitCode } from "../exit-codes.js";
import { findTarget } from "../fleet/find-target.js";
import { type FleetSchedule, nameOf, readFleet } from "../fleet/fleet.js";
import { forecast } from "../fleet/forecast.js";
import { instantOption } from "../instant-option.js";
import { nextRunOf, formatRule, whyOf } from "../format/plan.js";
import type { Column } from "../format/table.js";
import { relativeTime, zonedTime } from "../format/when.js";

const DEFAULT_COUNT = 10;
const MOST_RUNS = 10_000;

const TARGET: Argument = {
  name: "agent/schedule",
  isRequired: false,
  summary: "A schedule of the configuration, planned from its state.",
  completion: "schedule",
};
const COUNT = countOption("count", { short: "n", summary: `How many runs. Default: ${DEFAULT_COUNT}.` });
const CRON = textOption("cron", "expression", { summary: "A cron expression instead of a schedule." });
const INTERVAL = textOption("interval", "interval", {
  summary: 'An interval such as "5m" instead of a schedule.',
});
const TIMEZONE = textOption("timezone", "zone", {
  summary: "The time zone of --cron. Default: the system's.",
});
const FROM = instantOption(
  "from",
  "future",
  "Plan from this time, or from this long from now. Default: now.",
);

const COLUMNS: readonly Column[] = [
  { title: "RUN" },
  { title: "IN", align: "right" },
  { title: "SOURCE" },
  { title: "REMARK", cutTo: 10 },
];

export const nextCommand: Command = {
  name: "next",
  summary: "Show the next runs of a schedule, or of a cron expression, without running anything.",
  details: [
    "Runs are planned as if each job succeeded immediately. Times are shown in the schedule's zone, with their offset.",
  ],
  arguments: [TARGET],
  options: [COUNT, CRON, INTERVAL, TIMEZONE, FROM],
  examples: [
    { command: "rota next reports/nightly -n 5", comment: "the next five runs" },
    {
      command: 'rota next --cron "30 2 * * *" --timezone Europe/Berlin --from 2026-03-27T00:00:00Z',
      comment: "how daylight saving time affects an expression",
    },
    { command: "rota next --interval 5m -n 3", comment: "every five minutes, starting now" },
  ],
  run: next,
};

interface Subject {
  readonly definition: AgentSchedule;
  readonly state: ScheduleState;
  /** What holds its whole agent back. */
  readonly pause?: AgentPause | undefined;
  /** The reason to show when there are no runs. */
  readonly why: string;
  /** The time of the clock that decides what is due. */
  readonly now: Date;
}

async function next(call: Call): Promise<ExitCode> {
  const { isJson, option, output } = call;
  const count = option(COUNT) ?? DEFAULT_COUNT;
  if (count > MOST_RUNS) throw usageError(`Invalid --count ${count}: expected at most ${MOST_RUNS}`);
  const { definition, state, pause, why, now } = typedSchedule(call) ?? (await configured(call));
  const from = option(FROM)?.(now) ?? now;
  const timezone = definition.type === "cron" ? definition.timezone : undefined;
  const runs = forecast({ definition, state, pause, now: from, count });
  const remarks = runs.map(({ nextRunAt }) =>
    definition.type === "cron" ? clockChangeRemark(nextRunAt, timezone) : "",
  );
  const shown = (run: Plan): string => zonedTime(run.nextRunAt, timezone);
  if (isJson) {
    output.json(
      runs.map((run, index) => ({ at: shown(run), source: run.source, remark: remarks[index] || null })),
    );
  } else if (runs.length === 0) output.message(`No next run: ${why}.`);
  else {
    const rows = runs.map((run, index) => [
      shown(run),
      relativeTime(run.nextRunAt, now).replace(/^in /, ""),
      run.source,
      remarks[index] ?? "",
    ]);
    output.table(COLUMNS, rows);
  }
  return EXIT.ok;
}

/** The rule on the command line; `undefined` when the call names a schedule. */
function typedSchedule({ args, context, option }: Call): Subject | undefined {
  const [cron, interval, timezone] = [option(CRON), option(INTERVAL), option(TIMEZONE)];
  const given = [args[0], cron, interval].filter((one) => one !== undefined);
  if (given.length !== 1) throw usageError("Give exactly one of agent/schedule, --cron and --interval");
  if (timezone !== undefined && cron === undefined)
    throw usageError(`--timezone ${quote(timezone)} works with --cron only: a schedule has its own zone`);
  const now = context.clock.now();
  if (cron !== undefined) return typedSubject({ type: "cron", expression: cron, timezone }, now);
  return interval === undefined ? undefined : typedSubject({ type: "interval", interval }, now);
}

function typedSubject(definition: AgentSchedule, now: Date): Subject {
  asUsage(() => validateSchedule(definition));
  return { definition, state: { status: "idle" }, why: formatRule(definition), now };
}

/** With --from the stored plan is ignored, because it was made for now. */
async function configured(call: Call): Promise<Subject> {
  await using fleet = await readFleet(call);
  const { now } = fleet;
  const typedFrom = call.option(FROM)?.(now);
  const from = typedFrom ?? now;
  const schedule = findTarget(fleet.schedules, call.args[0] ?? "");
  const { definition, state, pause } = schedule;
  const why = whyOf(schedule, { now: from, isSchedulerRunning: true, load: undefined });
  if (definition === undefined) throw notDefined(schedule, why, nextRunOf(schedule, from));
  const { next_run_at: _, next_run_source: __, ...unplanned } = state;
  return { definition, state: typedFrom === undefined ? state : unplanned, pause, why, now };
}

function notDefined(schedule: FleetSchedule, why: string, nextRunAt: Date | undefined): Error {
  const planned = nextRunAt === undefined ? "" : ` Its next run is planned for ${zonedTime(nextRunAt)}.`;
  return usageError(
    `${quote(nameOf(schedule))} has no definition to plan from (${why}): it is ${
      schedule.origin === "switched-off" ? "switched off in the configuration" : "only in the state"
    }.${planned}`,
  );
}
