/**
 * The definition of an agent or a schedule, for output. Environment variables have been filled in by then, so a value may
 * contain a password: values that may hold one are hidden. Pure.
 */
import { type Fields, isFields } from "../../fields.js";
import { type Agent, type AgentSchedule, capacityOf } from "../../scheduler/agent.js";

const HIDDEN = "[hidden]";
const SECRET_NAME = /auth|credential|key|pass|secret|token/i;
/** Maps in which every value may be a secret. */
const SECRET_MAPS = new Set(["env", "headers"]);
/** Only the first part of these is shown: the program, or the origin of the URL. The rest may hold a secret. */
const NAMED_ONLY = new Set(["body", "command", "url"]);

/** The agent without its schedules. */
export function agentDefinition(agent: Agent): Fields {
  const { schedules: _, run, ...others } = agent;
  const own = run === undefined ? {} : { run: "a function" };
  return { ...shown(others), ...own, instances: { max_concurrent: capacityOf(agent) } };
}

export function scheduleDefinition(schedule: AgentSchedule): Fields {
  return shown({ ...schedule });
}

function shown(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).map(([key, value]) => [key, shownValue(key, value)]));
}

function shownValue(key: string, value: unknown): unknown {
  if (value == null) return value;
  if (SECRET_MAPS.has(key) && isFields(value)) return hiddenValues(value);
  if (NAMED_ONLY.has(key)) return namedOnly(key, value);
  if (SECRET_NAME.test(key)) return HIDDEN;
  if (Array.isArray(value)) return value.map((part: unknown) => shownValue("", part));
  return isFields(value) ? shown(value) : value;
}

function hiddenValues(values: Fields): Fields {
  return Object.fromEntries(Object.keys(values).map((name) => [name, HIDDEN]));
}

function namedOnly(key: string, value: unknown): unknown {
  if (key === "command" && Array.isArray(value)) {
    const [program, ...rest]: readonly unknown[] = value;
    return rest.length === 0 ? [program] : [program, HIDDEN];
  }
  if (key === "url" && typeof value === "string" && URL.canParse(value))
    return `${new URL(value).origin}/${HIDDEN}`;
  return HIDDEN;
}

/** `key: value, key: value`, for one line. */
export function formatFields(fields: Fields): string {
  return Object.entries(fields)
    .filter(([, value]) => value != null)
    .map(([key, value]) => `${key}: ${formatValue(value)}`)
    .join(", ");
}

function formatValue(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(formatValue).join(" ")}]`;
  return isFields(value) ? `{ ${formatFields(value)} }` : String(value);
}
