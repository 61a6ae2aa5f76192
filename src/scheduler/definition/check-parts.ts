/**
 * Checks the parts of an agent whose keys are right: whether the scheduler accepts each schedule as a whole, and whether
 * its runtime and its work sources can be created. Starts nothing and opens no connection.
 */
import { systemClock } from "../../clock.js";
import { messageOf } from "../../errors.js";
import { type Fields, isFields } from "../../fields.js";
import { processLogger } from "../../logger.js";
import type { SdkQuery } from "../../runner/runtime.js";
import { RuntimeRegistry } from "../../runner/registry.js";
import { ScheduleDefinitionError } from "../errors.js";
import { validateSchedule } from "../timing/schedule.js";
import { isName, LONGEST_NAME } from "../../state/validate-state.js";
import { WorkSourceRegistry } from "../../work-sources/registry.js";
import { requireConfig } from "../../work-sources/source-config.js";
import { rejection, type Subject, valueAt } from "./check-value.js";
import type { Fault, Path } from "./fault.js";
import type { HostKeys } from "./host-keys.js";

/** The messages runtime only requires that there is one. */
const SOME_QUERY: SdkQuery = async function* () {};
const RUNTIME_CONTEXT = { clock: systemClock, logger: processLogger, graceMs: 0, sdkQuery: SOME_QUERY };

/** Registries with the built-in types only: the types of the host are not checked. */
let runtimes: RuntimeRegistry | undefined;
let sources: WorkSourceRegistry | undefined;

/** Skips the parts in which `faults` has a fault already. */
export function checkParts(subject: Subject, faults: readonly Fault[], host: HostKeys): readonly Fault[] {
  const isSound = (path: Path): boolean => {
    if (subject.origin?.hasProblem(path) === true) return false;
    return faults.every((fault) => !startsWith(fault.path, [...subject.path, ...path]));
  };
  const found: Fault[] = [];
  const ask = (path: Path, check: (part: unknown) => Fault | undefined): void => {
    const part = valueAt(subject, path);
    const fault = part === undefined || part === null || !isSound(path) ? undefined : check(part);
    if (fault !== undefined) found.push(fault);
  };
  ask(["runtime"], (part) => checkRuntime(subject, part, host));
  const fault = checkRunnable(subject, faults, host);
  if (fault !== undefined) found.push(fault);
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
    ...rejection(subject, path, `Invalid schedule name: expected ${expected}`, expected),
    given: undefined,
  };
}

function checkSchedule(subject: Subject, path: Path, schedule: unknown): Fault | undefined {
  if (!isFields(schedule)) return undefined;
  const isCron = schedule["type"] === "cron";
  if (isCron && schedule["expression"] === undefined && schedule["cron"] === undefined) {
    const expected = 'a cron expression such as "0 9 * * 1-5"';
    const fault = rejection(
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
    // The message may quote any key of the schedule, so a secret in one of them hides it.
    const said = isTimingInterpolated(subject, path, schedule)
      ? `Invalid ${key.join("")}: expected ${expected}`
      : messageOf(error);
    return rejection(subject, [...path, ...key], said, expected);
  }
}

/** Whether a variable was put into a key that a contradiction can be about. */
function isTimingInterpolated({ origin }: Subject, path: Path, schedule: Fields): boolean {
  const keys = Object.keys(schedule).filter((key) => key !== "prompt" && key !== "work_source");
  return keys.some((key) => origin?.isInterpolated([...path, key]) === true);
}

/** A host may give any value. */
function typeIn(config: unknown): string {
  const type = isFields(config) ? config["type"] : undefined;
  return typeof type === "string" ? type : "";
}

function checkRuntime(
  subject: Subject,
  runtime: unknown,
  { runtimeTypes = [] }: HostKeys,
): Fault | undefined {
  runtimes ??= new RuntimeRegistry();
  const type = typeIn(runtime);
  if (runtimeTypes.includes(type) && !runtimes.types.includes(type)) return undefined;
  try {
    runtimes.runtimeOf({ name: "agent", runtime }, RUNTIME_CONTEXT);
    return undefined;
  } catch (error) {
    const fault = rejection(subject, ["runtime"], messageOf(error), "a runtime that can be created");
    // The reason may be a password in the address.
    return { ...fault, isSecret: true };
  }
}

/** An agent with schedules that nothing can run. */
function checkRunnable(subject: Subject, faults: readonly Fault[], { runners }: HostKeys): Fault | undefined {
  const schedules = valueAt(subject, ["schedules"]);
  if (runners === undefined || !isFields(schedules) || !Object.values(schedules).some(isEnabled))
    return undefined;
  const path = [...subject.path, "runtime"];
  if (faults.some((fault) => isAbout(fault, path) || isAbout(fault, [...subject.path, "run"])))
    return undefined;
  const runtime = valueAt(subject, ["runtime"]);
  const type = isFields(runtime) ? runtime["type"] : undefined;
  // Also a method that the agent has from its class.
  const hasRun = isFields(subject.value) && typeof subject.value["run"] === "function";
  if (type === "messages" || (runtime == null && !hasRun)) {
    if (runners.hasSdkQuery) return undefined;
    return type === "messages"
      ? unrunnable(path, "The messages runtime needs an sdkQuery, which a program gives to its scheduler")
      : unrunnable(path, `Nothing can run the jobs of this agent: give it ${RUNTIME_EXAMPLE}`);
  }
  if (type !== "function" || hasRun) return undefined;
  return unrunnable(path, "The function runtime needs a run function, which a program gives to the agent");
}

const RUNTIME_EXAMPLE =
  "a runtime such as { type: command, command: [node, work.js] }, or in a program a run function";

function unrunnable(path: Path, message: string): Fault {
  return { code: "MISSING_KEY", message, path, expected: "a runtime that can run jobs" };
}

function isEnabled(schedule: unknown): boolean {
  return !(isFields(schedule) && schedule["enabled"] === false);
}

/** Whether a fault is about the value at a path, a part of it, or a whole that contains it. */
function isAbout({ path }: Fault, about: Path): boolean {
  return startsWith(path, about) || startsWith(about, path);
}

function checkSource(
  subject: Subject,
  path: Path,
  source: unknown,
  { workSourceTypes = [], acceptsAnyWorkSource = false }: HostKeys,
): Fault | undefined {
  sources ??= new WorkSourceRegistry();
  const type = typeIn(source);
  if (acceptsAnyWorkSource || (workSourceTypes.includes(type) && !sources.types.includes(type)))
    return undefined;
  try {
    sources.create(requireConfig(source));
    return undefined;
  } catch (error) {
    return rejection(subject, path, messageOf(error), "a work source that can be created");
  }
}

function startsWith(path: Path, start: Path): boolean {
  return start.every((step, index) => path[index] === step);
}
