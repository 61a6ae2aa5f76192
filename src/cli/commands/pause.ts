/**
 * `rota pause` and `rota resume`: of one schedule, or of an agent with all schedules that it has and gets. What is paused does
 * not run, until a time or until it is resumed. A running scheduler picks the change up within one check.
 */
import { AGENT_RESUMED, agentPaused, paused, RESUMED } from "../../scheduler/control/state-changes.js";
import { isoTimeMs } from "../../iso-time.js";
import type { Call, Command } from "../command.js";
import { changeSchedulesOf } from "../fleet/change-schedules.js";
import { TARGET, unknownTarget } from "../fleet/find-target.js";
import { type Fleet, nameOf, readFleet } from "../fleet/fleet.js";
import { refusedError, usageError } from "../errors.js";
import { EXIT, type ExitCode } from "../exit-codes.js";
import { instantOption, lengthOption } from "../instant-option.js";
import { agentPauseText, pauseText } from "../format/plan.js";
import { oneLine } from "../format/text-width.js";
import { zonedTime } from "../format/when.js";

const UNTIL = instantOption("until", "future", "Until this time.");
const FOR = lengthOption("for", "For this long, such as 90m or 1h30m.");

export const pauseCommand: Command = {
  name: "pause",
  summary: "Pause a schedule, or an agent with all its schedules. A running job continues.",
  details: [
    "The pause of an agent also holds for schedules that it gets later. It leaves their plans as they are: when it ends, what came " +
      "due meanwhile is judged like any late run.",
  ],
  arguments: [TARGET],
  options: [UNTIL, FOR],
  examples: [
    { command: "rota pause reports/nightly", comment: "until it is resumed" },
    { command: "rota pause reports --for 2h", comment: "the whole agent, for two hours" },
    { command: "rota pause reports/nightly --until 2026-12-01T09:00:00Z", comment: "until a time" },
  ],
  run: pause,
};

export const resumeCommand: Command = {
  name: "resume",
  summary: "End the pause of a schedule, or of an agent and all its schedules.",
  arguments: [TARGET],
  examples: [
    { command: "rota resume reports/nightly", comment: "plan it again from now on" },
    { command: "rota resume reports", comment: "the agent, and each of its schedules that is paused" },
  ],
  run: resume,
};

async function pause(call: Call): Promise<ExitCode> {
  const [until, after] = [call.option(UNTIL), call.option(FOR)];
  if (until !== undefined && after !== undefined) throw usageError("Give --until or --for, not both");
  const endAt = (now: Date): Date | undefined => {
    const end = after === undefined ? until?.(now) : new Date(now.getTime() + after);
    if (end !== undefined && end <= now) throw usageError("A pause cannot end in the past");
    return end;
  };
  await using fleet = await readFleet(call);
  const agent = agentNamed(fleet, call.args[0] ?? "");
  if (agent !== undefined) {
    await pauseAgent(call, fleet, agent, endAt(fleet.now));
    return EXIT.ok;
  }
  const end = endAt(fleet.now);
  const patch = paused(end);
  const duration = end === undefined ? "" : ` until ${zonedTime(end)}`;
  await changeSchedulesOf(fleet, call, {
    message: (name) => `Paused ${name}${duration}.`,
    patch: () => patch,
  });
  return EXIT.ok;
}

async function pauseAgent(
  { isJson, output }: Call,
  { connection, now }: Fleet,
  agent: string,
  end: Date | undefined,
): Promise<void> {
  const kept = await connection.store.changePause(agent, agentPaused(now, end));
  if (isJson) return output.json({ agent, pause: kept ?? null });
  const isOwn = kept === undefined || kept.by === "user";
  const endMs = isoTimeMs(kept?.until);
  const duration = endMs === undefined ? "" : ` until ${zonedTime(new Date(endMs))}`;
  output.message(
    isOwn
      ? `Paused agent ${oneLine(agent)}${duration}.`
      : `Agent ${oneLine(agent)} stays ${oneLine(pauseText(kept))}.`,
  );
}

async function resume(call: Call): Promise<ExitCode> {
  const { args, isJson, output } = call;
  await using fleet = await readFleet(call);
  const { connection, schedules } = fleet;
  const text = args[0] ?? "";
  const agent = agentNamed(fleet, text);
  if (agent === undefined) {
    const held = schedules.find((key) => nameOf(key) === text && key.pause !== undefined);
    if (held?.pause !== undefined)
      throw refusedError(
        `${text} is ${agentPauseText(held.pause)}: \`rota resume ${held.agent}\` resumes the agent with all its schedules`,
      );
    await changeSchedulesOf(fleet, call, {
      message: (name) => `Resumed ${name}.`,
      patch: () => RESUMED,
    });
    return EXIT.ok;
  }
  const own = schedules.filter((key) => key.agent === agent);
  await Promise.all(own.map(({ schedule }) => connection.store.update({ agent, schedule }, RESUMED)));
  await connection.store.changePause(agent, AGENT_RESUMED);
  if (isJson) output.json({ agent, pause: null });
  else output.message(`Resumed agent ${oneLine(agent)}.`);
  return EXIT.ok;
}

/** The agent that a text names; `undefined` where it names a schedule. Throws NOT_FOUND for an unknown name. */
function agentNamed({ config, schedules }: Fleet, text: string): string | undefined {
  if (schedules.some((key) => nameOf(key) === text)) return undefined;
  const isKnown = schedules.some(({ agent }) => agent === text);
  if (isKnown || config?.agents.some(({ name }) => name === text) === true) return text;
  throw unknownTarget(schedules, text);
}
