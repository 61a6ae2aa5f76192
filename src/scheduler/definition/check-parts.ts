/**
 * Asks of an agent what only other layers can judge, once its keys are right: whether a schedule as a whole can be,
 * whether its runtime and its work sources would be made. Nothing is started and nothing outside is reached for.
 */
import { systemClock } from "../../clock.js";
import { messageOf } from "../../errors.js";
import { isFields } from "../../fields.js";
import { processLogger } from "../../logger.js";
import type { SdkQuery } from "../../runner/runtime.js";
import { RuntimeRegistry } from "../../runner/registry.js";
import { ScheduleDefinitionError } from "../errors.js";
import { validateSchedule } from "../timing/schedule.js";
import { isName, LONGEST_NAME } from "../../state/validate-state.js";
import { WorkSourceRegistry } from "../../work-sources/registry.js";
import { requireConfig } from "../../work-sources/source-config.js";
import { refusal, type Subject, valueAt } from "./check-value.js";
import { find, isBroken, isInterpolated, type Path } from "../../config/yaml/located-value.js";
import type { Fault } from "../../config/problem-list.js";
import type { HostKeys } from "./schema/agent-schema.js";

/** Only whether there is one is asked for. */
const SOME_QUERY: SdkQuery = async function* () {};
const RUNTIME_CONTEXT = { clock: systemClock, logger: processLogger, graceMs: 0, sdkQuery: SOME_QUERY };

/** With the types that Rota has, whatever the host has registered. */
let runtimes: RuntimeRegistry | undefined;
let sources: WorkSourceRegistry | undefined;

/** To be asked only of parts in which `faults` has found nothing yet. */
export function checkParts(subject: Subject, faults: readonly Fault[], host: HostKeys): readonly Fault[] {
  const isSound = (path: Path): boolean => {
    const node = subject.tree === undefined ? undefined : find(subject.tree, path).node;
    if (node !== undefined && isBroken(node)) return false;
    return faults.every((fault) => !startsWith(fault.path, [...subject.path, ...path]));
  };
  const found: Fault[] = [];
  const ask = (path: Path, check: (part: unknown) => Fault | undefined): void => {
    const part = valueAt(subject, path);
    const fault = part === undefined || part === null || !isSound(path) ? undefined : check(part);
    if (fault !== undefined) found.push(fault);
  };
  ask(["runtime"], (part) => checkRuntime(subject, part, host));
  ask(["work_source"], (part) => checkSource(subject, ["work_source"], part, host));
  const schedules = valueAt(subject, ["schedules"]);
  for (const name of isFields(schedules) ? Object.keys(schedules) : []) {
    const path = ["schedules", name];
    if (!isName(name)) found.push(nameFault(subject, path));
    ask(path, (part) => checkSchedule(subject, path, part));
    ask([...path, "work_source"], (part) => checkSource(subject, [...path, "work_source"], part, host));
  }
  return found;
}

function nameFault(subject: Subject, path: Path): Fault {
  const expected = `a name of 1 to ${LONGEST_NAME} characters`;
  return {
    ...refusal(subject, path, `Invalid schedule name: expected ${expected}`, expected),
    given: undefined,
  };
}

function checkSchedule(subject: Subject, path: Path, schedule: unknown): Fault | undefined {
  if (!isFields(schedule)) return undefined;
  const isCron = schedule["type"] === "cron";
  if (isCron && schedule["expression"] === undefined && schedule["cron"] === undefined) {
    const expected = 'a cron expression such as "0 9 * * 1-5"';
    const fault = refusal(
      subject,
      [...path, "expression"],
      `Missing expression: expected ${expected}`,
      expected,
    );
    return { ...fault, code: "MISSING_KEY", given: undefined };
  }
  try {
    validateSchedule(schedule);
    return undefined;
  } catch (error) {
    const key = error instanceof ScheduleDefinitionError ? [error.key] : [];
    const expected = "a schedule without contradictions";
    // It may be about any of the other keys as well.
    const said = isTimingFilled(subject, path)
      ? `Invalid ${key.join("")}: expected ${expected}`
      : messageOf(error);
    return refusal(subject, [...path, ...key], said, expected);
  }
}

/** Whether the environment has put something into what a contradiction can be about. */
function isTimingFilled({ tree }: Subject, path: Path): boolean {
  const node = tree === undefined ? undefined : find(tree, path).node;
  if (node?.kind !== "map") return false;
  const timing = [...node.entries].filter(([key]) => key !== "prompt" && key !== "work_source");
  return timing.some(([, { value }]) => isInterpolated(value));
}

function checkRuntime(
  subject: Subject,
  runtime: unknown,
  { runtimeTypes = [] }: HostKeys,
): Fault | undefined {
  if (isFields(runtime) && runtimeTypes.includes(String(runtime["type"]))) return undefined;
  try {
    runtimes ??= new RuntimeRegistry();
    runtimes.runtimeOf({ name: "agent", runtime }, RUNTIME_CONTEXT);
    return undefined;
  } catch (error) {
    const fault = refusal(subject, ["runtime"], messageOf(error), "a runtime that can be made");
    // What it is refused for may be the password in its address.
    return { ...fault, isSecret: true };
  }
}

function checkSource(
  subject: Subject,
  path: Path,
  source: unknown,
  { workSourceTypes = [] }: HostKeys,
): Fault | undefined {
  if (isFields(source) && workSourceTypes.includes(String(source["type"]))) return undefined;
  try {
    sources ??= new WorkSourceRegistry();
    sources.create(requireConfig(source));
    return undefined;
  } catch (error) {
    return refusal(subject, path, messageOf(error), "a work source that can be made");
  }
}

function startsWith(path: Path, start: Path): boolean {
  return start.every((step, index) => path[index] === step);
}
