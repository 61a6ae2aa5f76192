/** What holds for a schedule now, and why: its status, its next run with the rules that led to it, and its last job. Pure. */
import { backfillProgress } from "../../scheduler/control/backfill.js";
import { adoptPlan } from "../../scheduler/planning/reconcile-plan.js";
import { explainNextRun, type PlanRule } from "../../scheduler/planning/explain.js";
import { isAutomatic } from "../../scheduler/timing/schedule.js";
import { progressText } from "../format/backfill.js";
import { displayStatus, isPausedIndefinitely, nextRunOf, NO_SCHEDULER, whyOf } from "../format/plan.js";
import { relativeTime } from "../format/when.js";
import { ownJobs, type WhyAnswer, type WhyQuestion, type WhyVerdict } from "./why-then.js";
import { ended, noWorkText, spoken, zoneOf } from "./why-words.js";

export function whyNow(question: WhyQuestion): WhyAnswer {
  const { schedule, now } = question;
  const { definition, state } = schedule;
  const own = ownJobs(question);
  const status = displayStatus(schedule, now);
  const nextRunAt = plannedRun(question);
  const why = whyOf(schedule, question);
  const sentences = [why.startsWith(status) ? capital(why) : `${capital(status)}: ${why}`];
  if (nextRunAt !== undefined && !question.isSchedulerRunning && !why.includes(NO_SCHEDULER))
    sentences.push("No scheduler runs, so nothing will start");
  if (nextRunAt !== undefined)
    sentences.push(
      `${nextRunAt < now ? "Due since" : "Next run"}: ${spoken(nextRunAt, zoneOf(schedule))} (${relativeTime(nextRunAt, now)})`,
    );
  const backfill = backfillProgress(state);
  if (backfill !== undefined) sentences.push(`Backfill: ${progressText(backfill)}`);
  const explained =
    definition === undefined || nextRunAt === undefined || nextRunAt <= now
      ? undefined
      : explainNextRun({ now, schedule: definition, state });
  if (explained !== undefined && explained.trail.length > 1)
    for (const { rule, nextRunAt: at } of explained.trail)
      sentences.push(`${capital(RULES[rule])}: ${spoken(at, zoneOf(schedule))}`);
  const noWork = noWorkText(schedule);
  if (noWork !== undefined) sentences.push(noWork);
  const [last] = own;
  if (last !== undefined) sentences.push(`Last job: ${ended(last, now, zoneOf(schedule))}`);
  return { verdict: presentVerdict(question, status, nextRunAt), sentences, jobs: own.slice(0, 1) };
}

/** The next run; after a change that no scheduler has seen, the run that one will plan. */
function plannedRun({ schedule, now }: WhyQuestion): Date | undefined {
  const { definition, state } = schedule;
  const stored = nextRunOf(schedule, now);
  const status = displayStatus(schedule, now);
  const isHeld = status === "running" || status === "disabled" || isPausedIndefinitely(schedule);
  if (definition === undefined || isHeld) return stored;
  return adoptPlan({ now, schedule: definition, state, random: () => 0 })?.plan?.nextRunAt ?? stored;
}

const RULES: Readonly<Record<PlanRule, string>> = {
  baseline: "its own rule says",
  failures: "slower after failures",
  hint: "with the hint",
  limits: "within min_interval and max_interval",
  pause: "after the pause",
  state: "as it was planned",
};

function presentVerdict(
  { schedule: { definition }, now }: WhyQuestion,
  status: ReturnType<typeof displayStatus>,
  nextRunAt: Date | undefined,
): WhyVerdict {
  if (status === "running" || status === "disabled" || status === "paused") return status;
  if (definition !== undefined && !isAutomatic(definition)) return "on_request";
  if (nextRunAt === undefined) return "not_due";
  return nextRunAt <= now ? "waiting" : "planned";
}

function capital(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;
}
