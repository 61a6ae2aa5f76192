/** The environment of a command: basic variables, the configured ones, and which job it runs. */
import type { RuntimeJob } from "../runtime.js";
import { slotValues } from "./template.js";

/** Variables that every command gets; they hold no secrets. */
const PASSED_ALWAYS = [
  "PATH",
  "HOME",
  "LANG",
  "LC_ALL",
  "LC_CTYPE",
  "TZ",
  "TMPDIR",
  "USER",
  "LOGNAME",
  "SHELL",
  ...(process.platform === "win32" ? ["SystemRoot", "TEMP", "TMP", "PATHEXT", "USERPROFILE"] : []),
];

type Environment = Readonly<Record<string, string | undefined>>;

/** The named variables that exist. */
export function passed(names: readonly string[], all: Environment): Record<string, string> {
  const values: Record<string, string> = {};
  for (const name of names) {
    const value = all[name];
    if (value !== undefined) values[name] = value;
  }
  return values;
}

/** The names whose values may be secret. */
export function namedOnly(names: readonly string[]): readonly string[] {
  return names.filter((name) => !PASSED_ALWAYS.includes(name));
}

export function environmentOf(
  job: RuntimeJob,
  given: Readonly<Record<string, string>>,
  passedNames: readonly string[],
  all: Environment,
): Record<string, string> {
  const { jobId, agent, schedule, attempt, data } = job;
  const { slot, key } = slotValues(job);
  return present({
    ...passed([...PASSED_ALWAYS, ...passedNames], all),
    ...given,
    ROTA_JOB_ID: jobId,
    ROTA_AGENT: agent.name,
    ROTA_SCHEDULE: schedule,
    ROTA_SLOT: slot,
    ROTA_KEY: key,
    ROTA_ATTEMPT: String(attempt),
    ROTA_DATA: dataText(data),
  });
}

/** A system passes no longer variable; the prompt on stdin may hold the data at any length. */
const LONGEST_DATA = 100_000;

function dataText(data: unknown): string | null {
  const text = data == null ? null : JSON.stringify(data);
  return text === null || Buffer.byteLength(text) > LONGEST_DATA ? null : text;
}

/** Without the variables that the job has no value for: a command must not see the slot of an outer job. */
function present(values: Readonly<Record<string, string | null | undefined>>): Record<string, string> {
  const result: Record<string, string> = {};
  for (const [name, value] of Object.entries(values)) if (value != null) result[name] = value;
  return result;
}
