/** Runs a job by calling the agent's own `run`. A text that it returns is the job's summary. */
import { RunnerError } from "../errors.js";
import { isPromiseLike } from "../../fields.js";
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
  return typeof returned === "string" ? { success: true, summary: returned } : SUCCESS;
}
