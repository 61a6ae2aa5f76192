/** The environment of a command: basic variables, the configured ones, and which job it runs. */
import type { RuntimeJob } from "../runtime.js";

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
  const { jobId, agent, schedule, attempt } = job;
  return {
    ...passed([...PASSED_ALWAYS, ...passedNames], all),
    ...given,
    ROTA_JOB_ID: jobId,
    ROTA_AGENT: agent.name,
    ...(schedule === undefined ? {} : { ROTA_SCHEDULE: schedule }),
    ROTA_ATTEMPT: String(attempt),
  };
}
