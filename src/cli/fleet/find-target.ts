/** Finds the schedules that a text such as "reports" or "reports/nightly" names. Pure. */
import { closest } from "../../closest.js";
import { quote } from "../../errors.js";
import type { ScheduleKey } from "../../state/store.js";
import type { Argument } from "../command.js";
import { type CliError, notFoundError, usageError } from "../errors.js";
import { shortList } from "../format/counted.js";

/** The argument that `findTargets` reads. */
export const TARGET: Argument = {
  name: "agent/schedule",
  isRequired: true,
  summary: "The schedule; or an agent, for all of its schedules.",
  completion: "schedule",
};

/** More names would not help the reader. */
const MOST_SHOWN = 10;

/** One schedule, or all schedules of an agent; throws NOT_FOUND without a match. Names may contain slashes. */
export function findTargets<Key extends ScheduleKey>(
  schedules: readonly Key[],
  text: string,
): readonly Key[] {
  const exact = schedules.filter(({ agent, schedule }) => `${agent}/${schedule}` === text);
  if (exact.length > 0) return exact;
  const ofAgent = schedules.filter(({ agent }) => agent === text);
  if (ofAgent.length > 0) return ofAgent;
  throw unknownTarget(schedules, text);
}

/** The one schedule that a text names. An agent's name suffices when the agent has one schedule. */
export function findTarget<Key extends ScheduleKey>(schedules: readonly Key[], text: string): Key {
  const [target, ...others] = findTargets(schedules, text);
  if (target === undefined) throw unknownTarget(schedules, text);
  if (others.length === 0) return target;
  const names = [target, ...others].map((key) => `${key.agent}/${key.schedule}`);
  throw usageError(`${quote(text)} has ${names.length} schedules. Name one: ${shown(names)}`);
}

export function unknownTarget(schedules: readonly ScheduleKey[], text: string): CliError {
  const agents = [...new Set(schedules.map(({ agent }) => agent))];
  const names = schedules.map(({ agent, schedule }) => `${agent}/${schedule}`);
  return unknownName(text.includes("/") ? "schedule" : "agent", text, text.includes("/") ? names : agents);
}

/** The error for an unknown name: it suggests the closest name and lists the known names. */
export function unknownName(what: string, text: string, known: readonly string[]): CliError {
  const near = closest(text, known);
  const suggestion = near === undefined ? "" : ` Did you mean ${quote(near)}?`;
  const list = known.length === 0 ? `There are no ${what}s.` : `Known ${what}s: ${shown(known)}.`;
  return notFoundError(`There is no ${what} ${quote(text)}.${suggestion} ${list}`);
}

function shown(names: readonly string[]): string {
  return shortList(names.map(quote), MOST_SHOWN);
}
