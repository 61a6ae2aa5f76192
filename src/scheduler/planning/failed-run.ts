/** Is what a schedule runs still what failed? Failures of what was changed since do not count. Pure. */
import type { ScheduleState, ScheduleStatePatch } from "../../state/schedule-state.js";

/** What runs a job of a schedule, and with which prompt. */
export interface RunParts {
  readonly agent: { readonly run?: unknown; readonly runtime?: unknown };
  readonly schedule: { readonly prompt?: string | undefined };
}

/** The failures that count, and what failed. `runs` is absent for a schedule that was removed. */
export function countedFailures(
  { failure_count, failed_run }: Partial<ScheduleState>,
  runs: RunParts | undefined,
): { readonly failures: number; readonly failed_run: string | null } {
  const now = runs === undefined ? null : fingerprint(runs);
  const isChanged = failed_run != null && now !== null && failed_run !== now;
  return { failures: isChanged ? 0 : (failure_count ?? 0), failed_run: now };
}

/** What resets the failures of a schedule; `undefined` where they count. */
export function failuresReset(state: Partial<ScheduleState>, runs: RunParts): ScheduleStatePatch | undefined {
  if ((state.failure_count ?? 0) === 0 || state.failed_run == null) return undefined;
  const { failures } = countedFailures(state, runs);
  return failures === 0 ? { failure_count: 0, failed_run: null } : undefined;
}

/** Equal for equal runtimes, prompts and texts of `run`: a program may make its functions anew at each start. */
function fingerprint({ agent, schedule }: RunParts): string {
  const text = `${textOf(agent.runtime)} ${String(agent.run)} ${schedule.prompt}`;
  let hash = 0x81_1c_9d_c5;
  for (let index = 0; index < text.length; index++)
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01_00_01_93);
  return (hash >>> 0).toString(16).padStart(8, "0");
}

function textOf(runtime: unknown): string {
  try {
    return JSON.stringify(runtime) ?? "";
  } catch {
    // Options of an SDK may hold anything.
    return "";
  }
}
