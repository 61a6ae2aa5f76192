/** What a command sees of the environment: what it needs to find its way, what it was given, and which job it is. */
import type { RuntimeJob } from "../runtime.js";

/** What no command can be surprised to see, and nobody keeps a secret in. */
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

/** The variables of these names that there are. */
export function passed(names: readonly string[], all: Environment): Record<string, string> {
  const values: Record<string, string> = {};
  for (const name of names) {
    const value = all[name];
    if (value !== undefined) values[name] = value;
  }
  return values;
}

/** Of those that were named, the ones that may be secret. */
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
