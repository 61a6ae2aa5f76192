import { type ParseOptions, parseConfig } from "../../src/config/parse-config.js";
import { ConfigError, type ConfigProblem } from "../../src/scheduler/definition/errors.js";
import { thrownBy } from "../thrown-by.js";

/** The error that a text throws. */
export function refusalOf(text: string, options: ParseOptions = {}): ConfigError {
  const thrown = thrownBy(() => parseConfig(text, { file: "rota.yaml", env: {}, ...options }));
  if (thrown instanceof ConfigError) return thrown;
  throw new Error("The text was not refused with a ConfigError.", { cause: thrown });
}

export function problemsOf(text: string, options: ParseOptions = {}): readonly ConfigProblem[] {
  return refusalOf(text, options).problems;
}

/** The only problem of a text. */
export function problemOf(text: string, options: ParseOptions = {}): ConfigProblem {
  const [problem, ...others] = problemsOf(text, options);
  if (problem === undefined || others.length > 0)
    throw new Error(`${others.length + 1} problems, expected one: ${refusalOf(text, options).message}`);
  return problem;
}

/** A fleet with one agent, which has the lines. */
export function fleetWith(...lines: readonly string[]): string {
  return ["agents:", "  - name: writer", ...lines.map((line) => `    ${line}`)].join("\n");
}

/** A fleet with one schedule, which has the keys in flow style. */
export function scheduleWith(keys: string): string {
  return fleetWith("schedules:", `  nightly: { ${keys} }`);
}
