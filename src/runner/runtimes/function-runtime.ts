/** Runs a job by calling the agent's own `run`. A text that it answers is the job's summary. */
import { RunnerError } from "../errors.js";
import { isPromiseLike } from "../promise-like.js";
import { SUCCESS } from "../result.js";
import type { Runtime, RuntimeJob, RuntimeResult } from "../runtime.js";

/** One for all agents: what ends at once costs no promise. */
export const functionRuntime: Runtime = {
  run(job: RuntimeJob): RuntimeResult | Promise<RuntimeResult> {
    const { agent } = job;
    if (agent.run === undefined)
      throw new RunnerError(
        `Agent ${agent.name} cannot run jobs by the function runtime: give it a run function.`,
        { code: "NO_RUNTIME" },
      );
    const answer = agent.run(job);
    return isPromiseLike(answer) ? laterSuccessOf(answer) : successOf(answer);
  },
};

async function laterSuccessOf(answer: PromiseLike<unknown>): Promise<RuntimeResult> {
  return successOf(await answer);
}

function successOf(answer: unknown): RuntimeResult {
  return typeof answer === "string" ? { success: true, summary: answer } : SUCCESS;
}
