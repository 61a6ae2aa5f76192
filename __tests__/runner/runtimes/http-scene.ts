import type { ExecuteOptions } from "../../../src/runner/job-executor.js";
import { type Ended, Scene } from "../scene.js";

/** Runs a job that asks this address. */
export function ask(
  url: string,
  more: Record<string, unknown> = {},
  options: Partial<ExecuteOptions> = {},
): Promise<Ended> {
  return new Scene().run({ runtime: { type: "http", url, ...more } }, options);
}
