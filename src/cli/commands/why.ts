/** `rota why`: why a schedule ran, did not run or will run at a time. */
import { dayInJobId } from "../../state/job-log/job-id.js";
import type { Argument, Call, Command } from "../command.js";
import { usageError } from "../errors.js";
import { EXIT, type ExitCode } from "../exit-codes.js";
import { findTarget } from "../fleet/find-target.js";
import { hasLiveScheduler, loadsOf, nameOf, readFleet } from "../fleet/fleet.js";
import { whyNow } from "../fleet/why-now.js";
import { whyThen } from "../fleet/why-then.js";
import { oneLine } from "../format/text-width.js";
import { zonedTime } from "../format/when.js";
import { instantOption } from "../instant-option.js";

const TARGET: Argument = {
  name: "agent/schedule",
  isRequired: true,
  summary: "The schedule; or an agent that has only one.",
  completion: "schedule",
};
const AT = instantOption(
  "at",
  "past",
  'The time: "03:47" for the latest one, "yesterday 23:47", "2026-11-17 23:47", "2h" for two hours ago, or a time to come. ' +
    "Local times are in the schedule's zone. Default: now.",
);

export const whyCommand: Command = {
  name: "why",
  summary: "Say why a schedule ran, did not run, or will run at a time.",
  details: [
    "The answer comes from the definition, the state and the records of jobs. It says so when something is not recorded, such as " +
      "when a pause began. A time without seconds means the whole minute.",
    "--json prints verdict: ran, running, skipped, missed, paused, disabled, waiting, not_due, planned, on_request or unknown; " +
      "answer, the sentences; and jobs, the records that they are about.",
  ],
  arguments: [TARGET],
  options: [AT],
  examples: [
    { command: "rota why reports/nightly", comment: "why it will run when it will, or what blocks it" },
    {
      command: "rota why reports/nightly --at 03:47",
      comment: "why it ran, or did not run, at the last 03:47",
    },
    { command: "rota why reports/nightly --at tomorrow", comment: "whether it will run then" },
  ],
  run: why,
};

async function why(call: Call): Promise<ExitCode> {
  const { args, isJson, option, output } = call;
  const [text = ""] = args;
  if (dayInJobId(text) !== undefined)
    throw usageError(`${text} is a job: \`rota describe ${text}\` says why it ran`);
  await using fleet = await readFleet(call);
  const { connection, now } = fleet;
  const schedule = findTarget(fleet.schedules, text);
  const { agent, definition } = schedule;
  const zone = definition?.type === "cron" ? definition.timezone : undefined;
  const at = option(AT)?.(now, zone);
  const since = fleet.schedulers.flatMap((one) =>
    one.isAlive && one.since !== undefined ? [one.since] : [],
  );
  const question = {
    schedule,
    now,
    jobs: await connection.store.jobs.list({ agent, limit: Infinity }),
    isSchedulerRunning: hasLiveScheduler(fleet),
    isOrphan: (await connection.orphans()).has(schedule),
    load: loadsOf(fleet).get(agent),
    runningSince: since.toSorted((one, other) => one.getTime() - other.getTime())[0],
  };
  const isNow = at === undefined || at.getTime() === now.getTime();
  const answer = isNow ? whyNow(question) : whyThen(question, at);
  if (isJson)
    output.json({
      agent,
      schedule: schedule.schedule,
      at: (at ?? now).toISOString(),
      verdict: answer.verdict,
      answer: answer.sentences,
      jobs: answer.jobs,
    });
  else {
    const [first = "", ...others] = answer.sentences.map(oneLine);
    output.line(`${output.paint("bold", oneLine(nameOf(schedule)))} at ${zonedTime(at ?? now, zone)}`);
    output.line(`  ${first}.`);
    for (const sentence of others) output.line(`  ${sentence}.`);
  }
  return EXIT.ok;
}
