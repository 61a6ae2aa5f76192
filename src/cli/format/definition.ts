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
/** Of a URL only the origin is shown. The rest may hold a secret. */
const NAMED_ONLY = new Set(["body", "url"]);
/** Variables of the environment that hold no secret. */
const OPEN_VARIABLES =
  /^(?:COLORTERM|EDITOR|HOME|HOSTNAME|LANG|LC_\w+|LOGNAME|NODE_ENV|OLDPWD|PATH|PWD|SHELL|SHLVL|TERM|TMPDIR|TZ|USER|npm_\w+)$/;
/** Shorter values would be found in ordinary words. */
const SHORTEST_SECRET = 4;
/** Texts that are secrets by their form: keys of well-known services, signed tokens, and passwords in addresses. */
const SECRET_FORM =
  /^(?:sk|pk|rk)[-_]\w|^(?:gh[a-z]|github_pat|glpat|xox[a-z]|npm)[-_]\w|^AKIA|^eyJ|:\/\/[^/\s]*:[^/\s]*@|\bBearer\s/;

/** Values of the environment that must not be shown: the configuration may have put them anywhere. */
export function secretVariables(env: Readonly<Record<string, string | undefined>>): readonly string[] {
  return Object.entries(env).flatMap(([name, value = ""]) =>
    OPEN_VARIABLES.test(name) || value.length < SHORTEST_SECRET ? [] : [value],
  );
}

/** The agent without its schedules; `secrets`: texts that hide an argument of its command. */
export function agentDefinition(agent: Agent, secrets: readonly string[] = []): Fields {
  const { schedules: _, run, ...others } = agent;
  const own = run === undefined ? {} : { run: "a function" };
  return {
    ...shown(others, [...secrets, ...valuesOfEnv(others)]),
    ...own,
    instances: { max_concurrent: capacityOf(agent) },
  };
}

export function scheduleDefinition(schedule: AgentSchedule): Fields {
  return shown({ ...schedule }, []);
}

/** The values of every `env` in a definition. */
function valuesOfEnv(fields: Fields): readonly string[] {
  return Object.entries(fields).flatMap(([key, value]) => {
    if (!isFields(value)) return [];
    if (key !== "env") return valuesOfEnv(value);
    return Object.values(value).flatMap((one) =>
      typeof one === "string" && one.length >= SHORTEST_SECRET ? [one] : [],
    );
  });
}

function shown(fields: Fields, secrets: readonly string[]): Fields {
  return Object.fromEntries(
    Object.entries(fields).map(([key, value]) => [key, shownValue(key, value, secrets)]),
  );
}

function shownValue(key: string, value: unknown, secrets: readonly string[]): unknown {
  if (value == null) return value;
  if (SECRET_MAPS.has(key) && isFields(value)) return hiddenValues(value);
  if (NAMED_ONLY.has(key)) return namedOnly(key, value);
  if (key === "command" && Array.isArray(value)) return shownCommand(value, secrets);
  if (SECRET_NAME.test(key)) return HIDDEN;
  if (Array.isArray(value)) return value.map((part: unknown) => shownValue("", part, secrets));
  return isFields(value) ? shown(value, secrets) : value;
}

function hiddenValues(values: Fields): Fields {
  return Object.fromEntries(Object.keys(values).map((name) => [name, HIDDEN]));
}

/** The program and its arguments: hidden is what follows a flag such as --password, and what is or contains a secret. */
function shownCommand(command: readonly unknown[], secrets: readonly string[]): readonly unknown[] {
  return command.map((part, index) => {
    if (index === 0 || typeof part !== "string") return part;
    const before = command[index - 1];
    if (index > 1 && typeof before === "string" && /^-[^=]*$/.test(before) && SECRET_NAME.test(before))
      return HIDDEN;
    const [, name = "", value = ""] = /^([^=\s]+)=(.*)$/s.exec(part) ?? [];
    if (value !== "" && SECRET_NAME.test(name)) return `${name}=${HIDDEN}`;
    return SECRET_FORM.test(part) || secrets.some((secret) => part.includes(secret)) ? HIDDEN : part;
  });
}

function namedOnly(key: string, value: unknown): unknown {
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
  if (Array.isArray(value)) return `[${value.map(formatItem).join(", ")}]`;
  return isFields(value) ? `{ ${formatFields(value)} }` : String(value);
}

/** One of several: quoted where it would run into the next. */
function formatItem(value: unknown): string {
  return typeof value === "string" && /^$|[\s,"[\]{}]/.test(value)
    ? JSON.stringify(value)
    : formatValue(value);
}
