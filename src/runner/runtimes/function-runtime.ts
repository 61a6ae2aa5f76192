/**
 * Runs a job by calling the agent's own `run`. A text that it returns is the job's summary, an object with a boolean
 * `success` is its result, and any other JSON value is kept as its response.
 */
import { RunnerError } from "../errors.js";
import { isFields, isPromiseLike } from "../../fields.js";
import type { Runtime, RuntimeJob, RuntimeResult } from "../runtime.js";

/** All agents share this one: it has no configuration. */
export const functionRuntime: Runtime = {
  run(job: RuntimeJob): RuntimeResult | PromiseLike<RuntimeResult> {
    const { agent } = job;
    if (agent.run === undefined)
      throw new RunnerError(
        `Agent ${agent.name} cannot run jobs by the function runtime: give it a run function.`,
        { code: "NO_RUNTIME" },
      );
    const returned = agent.run(job);
    return isPromiseLike(returned) ? Promise.resolve(returned).then(successOf) : successOf(returned);
  },
};

const SUCCESS: RuntimeResult = { success: true };

function successOf(returned: unknown): RuntimeResult {
  if (returned == null) return SUCCESS;
  return typeof returned === "string" ? { success: true, summary: returned } : resultOf(returned);
}

function resultOf(returned: unknown): RuntimeResult {
  if (isResult(returned)) return returned;
  return isPlainJson(returned) ? { success: true, responseBody: returned } : SUCCESS;
}

/** The runner checks what else it has. */
function isResult(returned: unknown): returned is RuntimeResult {
  return isFields(returned) && typeof returned["success"] === "boolean";
}

/** Not an object of a class: a connection or a response is no result, and its JSON says nothing. */
function isPlainJson(value: unknown): boolean {
  if (typeof value !== "object" || value === null)
    return typeof value === "boolean" || (typeof value === "number" && Number.isFinite(value));
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype || Array.isArray(value);
}
