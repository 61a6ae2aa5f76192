/** Agents by chance: every kind of schedule and policy, and some that cannot be. */
import type { Agent } from "../../src/scheduler/agent.js";
import type { ScheduleKey } from "../../src/state/store.js";
import type { Dice } from "./dice.js";
import { WITNESS, WITNESS_INTERVAL_MS } from "./simulated-jobs.js";

/** All in UTC or with elapsed time in them, so that the oracle's `matches` is the whole rule. */
const CRONS = [
  { expression: "*/5 * * * * *" },
  { expression: "*/7 * * * * *", timezone: "Asia/Kolkata" },
  { expression: "15,45 * * * * *", timezone: "America/New_York" },
  { cron: "* * * * *", timezone: "UTC" },
  { expression: "30 */2 * * * *", timezone: "UTC" },
  { expression: "10 0-59/3 * * * *", timezone: "Asia/Kathmandu" },
] as const;

/** No cron above is further from its next time. */
export const LONGEST_CRON_MS: number = 4 * 60_000;

const INVALID: readonly object[] = [
  { type: "interval", interval: "5 parsecs" },
  { type: "interval", interval: "0s" },
  { type: "cron", expression: "61 * * * *" },
  { type: "cron", expression: "* * * * *", timezone: "Mars/Olympus" },
  { type: "once", at: "soon" },
  { type: "sometimes" },
  { type: "interval", interval: "5s", min_interval: "9s", max_interval: "3s" },
];

/** Whether a schedule is one that a scheduler takes. */
export function isValid(schedule: SimulatedSchedule): boolean {
  return !INVALID.includes(schedule);
}

const AGENT_NAMES = ["ada", "bob", "cyd", "dee"];
const SCHEDULE_NAMES = ["one", "two", "six"];

export interface SimulatedSchedule {
  readonly type: string;
  readonly interval?: string;
  readonly expression?: string;
  readonly cron?: string;
  readonly timezone?: string;
  readonly at?: string;
  readonly anchor?: string;
  readonly jitter?: number;
  readonly min_interval?: string;
  readonly max_interval?: string;
  readonly when_busy?: string;
  readonly on_failure?: string;
  readonly missed?: string;
  readonly on_interrupt?: string;
  readonly retries?: object;
}

export interface SimulatedAgent {
  readonly name: string;
  readonly schedules: Readonly<Record<string, SimulatedSchedule>>;
  readonly instances: { readonly max_concurrent: number };
}

const [witnessName = "", beat = ""] = WITNESS.split("/");
const WITNESS_AGENT: SimulatedAgent = {
  name: witnessName,
  schedules: { [beat]: { type: "interval", interval: `${WITNESS_INTERVAL_MS / 1000}s` } },
  instances: { max_concurrent: 1 },
};

export function randomFleet(dice: Dice, wallMs: number): SimulatedAgent[] {
  const names = AGENT_NAMES.slice(0, dice.whole(1, AGENT_NAMES.length));
  return [WITNESS_AGENT, ...names.map((name) => randomAgent(dice, name, wallMs))];
}

/** Some agents go, some come, some change. */
export function changedFleet(dice: Dice, fleet: readonly SimulatedAgent[], wallMs: number): SimulatedAgent[] {
  const others = AGENT_NAMES.flatMap((name) => {
    const agent = fleet.find((known) => known.name === name);
    if (agent === undefined) return dice.chance(0.3) ? [randomAgent(dice, name, wallMs)] : [];
    if (dice.chance(0.15)) return [];
    return [dice.chance(0.4) ? changedAgent(dice, agent, wallMs) : agent];
  });
  const agents = [WITNESS_AGENT, ...others];
  return dice.chance(0.3) ? agents.toReversed() : agents;
}

/** All that can ever be in a fleet. */
export const EVERY_KEY: readonly ScheduleKey[] = [
  { agent: witnessName, schedule: beat },
  ...AGENT_NAMES.flatMap((agent) => SCHEDULE_NAMES.map((schedule) => ({ agent, schedule }))),
];

/** What the scheduler takes, though it knows that some of it cannot be. */
export function asAgents(fleet: readonly SimulatedAgent[]): readonly Agent[] {
  return fleet as unknown as readonly Agent[];
}

function changedAgent(dice: Dice, agent: SimulatedAgent, wallMs: number): SimulatedAgent {
  if (dice.chance(0.4)) return { ...agent, instances: { max_concurrent: dice.whole(1, 3) } };
  const schedules = { ...agent.schedules };
  const name = dice.pick(SCHEDULE_NAMES);
  if (schedules[name] !== undefined && dice.chance(0.3)) delete schedules[name];
  else schedules[name] = randomSchedule(dice, wallMs);
  return { ...agent, schedules };
}

function randomAgent(dice: Dice, name: string, wallMs: number): SimulatedAgent {
  const names = SCHEDULE_NAMES.slice(0, dice.whole(1, SCHEDULE_NAMES.length));
  const schedules = Object.fromEntries(
    names.map((schedule) => [schedule, randomSchedule(dice, wallMs)] as const),
  );
  return { name, schedules, instances: { max_concurrent: dice.whole(1, 3) } };
}

function randomSchedule(dice: Dice, wallMs: number): SimulatedSchedule {
  const kind = dice.random();
  if (kind < 0.08) return dice.pick(INVALID) as SimulatedSchedule;
  if (kind < 0.13) return { type: dice.pick(["webhook", "chat"]) };
  if (kind < 0.2)
    return { type: "once", at: new Date(wallMs + dice.whole(-5_000, 60_000)).toISOString(), ...missed(dice) };
  const limits = {
    ...(dice.chance(0.1) ? { min_interval: `${dice.whole(2, 8)}s` } : {}),
    ...(dice.chance(0.1) ? { max_interval: `${dice.whole(9, 40)}s` } : {}),
    ...(dice.chance(0.2) ? { when_busy: "skip" } : {}),
    ...(dice.chance(0.4) ? { on_failure: dice.pick(["backoff", "continue", "pause"]) } : {}),
    ...missed(dice),
    ...interrupted(kind),
    ...retried(kind),
  };
  if (kind < 0.5) return { type: "cron", ...dice.pick(CRONS), ...limits };
  return {
    type: "interval",
    interval: `${dice.chance(0.7) ? dice.whole(1, 15) : dice.whole(16, 60)}s`,
    ...(dice.chance(0.2) ? { anchor: "start" } : {}),
    ...(dice.chance(0.2) ? { jitter: dice.whole(1, 10) } : {}),
    ...limits,
  };
}

function missed(dice: Dice): { missed?: string } {
  return dice.chance(0.3) ? { missed: dice.pick(["skip", "once"]) } : {};
}

/** Some schedules run at most once. From a number that was drawn before, so that the seeds of planted bugs stay theirs. */
function interrupted(drawn: number): { on_interrupt?: string } {
  return (drawn * 1_000) % 1 < 0.15 ? { on_interrupt: "skip" } : {};
}

/** Some failed slots are tried again; drawn as above. */
function retried(drawn: number): { retries?: object } {
  const chance = (drawn * 100_000) % 1;
  if (chance >= 0.25) return {};
  return { retries: { count: 1 + Math.floor(chance * 12), delay: chance < 0.12 ? "1s" : "3s" } };
}

export function secondsMs(text: string): number {
  return Number.parseInt(text, 10) * 1_000;
}
