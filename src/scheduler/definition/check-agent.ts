/** Finds everything that is wrong with one agent: first with its keys, then with its runtime, schedules and sources. Pure. */
import { messageOf, quote } from "../../errors.js";
import { isFields } from "../../fields.js";
import { validateSchedule } from "../timing/schedule.js";
import { checkParts } from "./check-parts.js";
import { checkValue, type Subject, valueAt } from "./check-value.js";
import type { Fault } from "./fault.js";
import type { HostKeys } from "./host-keys.js";
import type { Schema } from "./schema/fields.js";
import { RUNTIMES, runtimesWithKey } from "./schema/runtime-schema.js";

export function checkAgent(schema: Schema, subject: Subject, host: HostKeys): readonly Fault[] {
  const faults = checkValue(schema, subject).map((fault) => withBetterMessage(fault, subject));
  return [...faults, ...checkParts(subject, faults, host)];
}

/** A key of a different runtime or type of schedule is not a typing mistake: the message says where it belongs. */
function withBetterMessage(fault: Fault, subject: Subject): Fault {
  if (fault.code !== "UNKNOWN_KEY") return fault;
  const path = fault.path.slice(subject.path.length);
  const [first, schedule, key] = path;
  const message =
    path.length === 1 && typeof first === "string"
      ? runtimeKeyMessage(first, subject)
      : first === "schedules" && path.length === 3
        ? scheduleKeyMessage(String(key), valueAt(subject, ["schedules", String(schedule)]))
        : undefined;
  return message === undefined ? fault : { ...fault, message, suggestion: undefined };
}

function runtimeKeyMessage(key: string, subject: Subject): string | undefined {
  const [owner] = runtimesWithKey(key);
  if (owner === undefined) return undefined;
  const type = valueAt(subject, ["runtime", "type"]);
  if (type === undefined) return `The key ${quote(key)} belongs to a runtime: add runtime: ${owner}`;
  if (typeof type !== "string" || !Object.hasOwn(RUNTIMES, type)) return undefined;
  if (type === owner) return `The runtime already has the key ${quote(key)}: remove one`;
  return `The key ${quote(key)} belongs to a runtime of type ${owner}, but this runtime has type ${quote(type)}`;
}

/** The scheduler's own message, because the scheduler rejects the key too. */
function scheduleKeyMessage(key: string, schedule: unknown): string | undefined {
  if (!isFields(schedule)) return undefined;
  try {
    validateSchedule({ type: schedule["type"], [key]: 0 });
    return undefined;
  } catch (error) {
    const message = messageOf(error);
    return message.includes(`cannot have the key ${key}:`) ? message : undefined;
  }
}
