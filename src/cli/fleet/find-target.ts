/** Which schedules a text such as "reports" or "reports/nightly" names; and what to say when it names none. Pure. */
import { closest } from "../../closest.js";
import { quote } from "../../errors.js";
import type { ScheduleKey } from "../../state/store.js";
import { type CliError, notFoundError, usageError } from "../errors.js";

/** Beyond so many names a list helps nobody. */
const MOST_SHOWN = 10;

/** The schedules that a text names: one, or all of an agent's. Throws NOT_FOUND. Names may have slashes themselves. */
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

/** The one schedule that a text names; an agent's name will do where that has only one. */
export function findTarget<Key extends ScheduleKey>(schedules: readonly Key[], text: string): Key {
  const [target, ...others] = findTargets(schedules, text);
  if (target === undefined) throw unknownTarget(schedules, text);
  if (others.length === 0) return target;
  const names = [target, ...others].map((key) => `${key.agent}/${key.schedule}`);
  throw usageError(`${quote(text)} has ${names.length} schedules. Say which: ${shown(names)}`);
}

function unknownTarget(schedules: readonly ScheduleKey[], text: string): CliError {
  const agents = [...new Set(schedules.map(({ agent }) => agent))];
  const names = schedules.map(({ agent, schedule }) => `${agent}/${schedule}`);
  return unknown(text.includes("/") ? "schedule" : "agent", text, text.includes("/") ? names : agents);
}

/** Says what is not there, what there is, and what was probably meant. */
export function unknown(what: string, text: string, known: readonly string[]): CliError {
  const near = closest(text, known);
  const meant = near === undefined ? "" : ` Did you mean ${quote(near)}?`;
  const there = known.length === 0 ? `There is none at all.` : `There is ${shown(known)}.`;
  return notFoundError(`There is no ${what} ${quote(text)}.${meant} ${there}`);
}

function shown(names: readonly string[]): string {
  const rest = names.length - MOST_SHOWN;
  const some = names.slice(0, MOST_SHOWN).map(quote).join(", ");
  return rest > 0 ? `${some} and ${rest} more` : some;
}
