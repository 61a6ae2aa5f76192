/** Everything that is wrong with one agent: its keys by the definition, then what other layers say about its parts. Pure. */
import { messageOf, quote } from "../../errors.js";
import { isFields } from "../../fields.js";
import { validateSchedule } from "../timing/schedule.js";
import { checkParts } from "./check-parts.js";
import { checkValue, type Subject, valueAt } from "./check-value.js";
import { entryOf, placeOfKey, textOf } from "../../config/yaml/located-value.js";
import type { Fault } from "../../config/problem-list.js";
import { runtimesWith } from "../../config/runtime-keys.js";
import type { HostKeys } from "./schema/agent-schema.js";
import type { Schema } from "./schema/fields.js";
import { RUNTIMES } from "./schema/runtime-schema.js";

export function checkAgent(schema: Schema, subject: Subject, host: HostKeys): readonly Fault[] {
  const found = checkValue(schema, subject).map((fault) => betterWorded(fault, subject));
  const faults = [...found, ...checkEnv(subject)];
  return [...faults, ...checkParts(subject, faults, host)];
}

/** A key that is right elsewhere is no typing mistake. */
function betterWorded(fault: Fault, subject: Subject): Fault {
  if (fault.code !== "UNKNOWN_KEY") return fault;
  const path = fault.path.slice(subject.path.length);
  const [first, schedule, key] = path;
  const message =
    path.length === 1 && typeof first === "string"
      ? ofAnotherRuntime(first, subject)
      : first === "schedules" && path.length === 3
        ? ofAnotherType(String(key), valueAt(subject, ["schedules", String(schedule)]))
        : undefined;
  return message === undefined ? fault : { ...fault, message, suggestion: undefined };
}

function ofAnotherRuntime(key: string, subject: Subject): string | undefined {
  const [owner] = runtimesWith(key, Object.keys(RUNTIMES));
  if (owner === undefined) return undefined;
  const type = valueAt(subject, ["runtime", "type"]);
  if (type === undefined) return `The key ${quote(key)} belongs to a runtime: add runtime: ${owner}`;
  if (typeof type !== "string" || !Object.hasOwn(RUNTIMES, type)) return undefined;
  if (type === owner) return `The key ${quote(key)} is in the runtime already: remove one`;
  return `The key ${quote(key)} belongs to a runtime of type ${owner}, and this is one of type ${quote(type)}`;
}

/** In the words of the scheduler, which refuses it too. */
function ofAnotherType(key: string, schedule: unknown): string | undefined {
  if (!isFields(schedule)) return undefined;
  try {
    validateSchedule({ type: schedule["type"], [key]: 0 });
    return undefined;
  } catch (error) {
    const message = messageOf(error);
    return message.includes(`cannot have the key ${key}:`) ? message : undefined;
  }
}

/** Variables of an agent that runs no command would be lost without a word; those of the defaults are meant for others. */
function checkEnv({ tree, path }: Subject): readonly Fault[] {
  const env = entryOf(tree, "env");
  const type = textOf(entryOf(tree, "runtime"), "type") ?? "none";
  if (tree === undefined || env === undefined || env.isDefault === true || type === "command") return [];
  if (type !== "none" && !Object.hasOwn(RUNTIMES, type)) return [];
  const message = `An env is for a command, and this agent has ${type === "none" ? "no runtime" : `a runtime of type ${type}`}: remove it`;
  return [{ code: "INVALID_VALUE", message, path: [...path, "env"], place: placeOfKey(tree, [], "env") }];
}
