/** How a job ended, worked out from what its runtime returned or threw and from why the runner stopped it. Pure. */
import { type Fields, isFields } from "../fields.js";
import { messageOf, quote, wholeMessageOf } from "../errors.js";
import type { JobEndStatus } from "../state/job-log/job-log.js";
import type { RuntimeResult } from "./runtime.js";
import { hideIn, hideInJson, searchedTexts } from "./output/secrets.js";

/** How a job ended: the one type between the code that runs a job and the code that writes its record. */
export interface JobResult {
  readonly status: JobEndStatus;
  /** Why the job did not complete; absent for a completed one. */
  readonly error?: string | undefined;
  readonly summary?: string | undefined;
  /** A process's exit code, or an HTTP status. */
  readonly exitCode?: number | undefined;
  /** Any JSON value. */
  readonly responseBody?: unknown;
  /** The work item that the job took after its start. Any JSON value. */
  readonly workItem?: unknown;
  /** How long the job ran, where the runner measured it. */
  readonly durationMs?: number | undefined;
  /** Why nothing was run. */
  readonly skipReason?: "no_work" | undefined;
}

/** How a job ended, as the runner and a JobExecutor return it. Every RunnerResult is a JobResult. */
export interface RunnerResult extends Omit<JobResult, "workItem" | "skipReason"> {
  readonly success: boolean;
  readonly jobId: string;
  readonly status: Exclude<JobEndStatus, "interrupted">;
  readonly durationMs: number;
  /**
   * What the job wrote, or the last 100 kB of it. Only with the option `withOutput`, and only when the job wrote
   * something; the job log has all of it.
   */
  readonly output?: string | undefined;
}

/** Why the runner told a job to end. */
export interface JobStop {
  readonly status: "timeout" | "cancelled";
  /** "Timed out after 5000 ms", or "Cancelled: no longer needed". */
  readonly message: string;
  /** How long the runner then waited before it abandoned the job, in milliseconds; absent for a job that ended. */
  readonly abandonedAfterMs?: number | undefined;
}

export function timeoutStop(timeoutMs: number): JobStop {
  return { status: "timeout", message: `Timed out after ${timeoutMs} ms` };
}

export function cancelStop(reason: unknown): JobStop {
  return { status: "cancelled", message: `Cancelled: ${messageOf(reason)}` };
}

/** The longest summary or error that a record keeps. */
const LONGEST_TEXT = 4_000;
/** The longest response, as JSON text, that a record keeps. */
export const LONGEST_RESPONSE: number = 100 * 1024;

/**
 * The result of a job from what its runtime said; of an abandoned job the runtime said nothing. A job that ran past its
 * timeout has timed out, even when it succeeds. A cancelled job that succeeds has completed: its work is done.
 */
export function runnerResult(
  jobId: string,
  said: RuntimeResult | undefined,
  stop: JobStop | undefined,
  durationMs: number,
  secrets: readonly string[] = [],
): RunnerResult {
  const searched = secrets.length === 0 ? secrets : searchedTexts(secrets);
  const { success: succeeded, timedOut, summary, error, exitCode, responseBody } = said ?? FAILURE;
  const isCompleted = succeeded && stop?.status !== "timeout";
  const status = isCompleted ? "completed" : (stop?.status ?? (timedOut === true ? "timeout" : "failed"));
  const result: { -readonly [Key in keyof RunnerResult]: RunnerResult[Key] } = {
    success: isCompleted,
    jobId,
    status,
    durationMs,
  };
  if (summary !== undefined) result.summary = cut(hideIn(summary, searched));
  if (!isCompleted) result.error = cut(hideIn(errorText(error, stop), searched));
  if (exitCode !== undefined) result.exitCode = exitCode;
  if (responseBody !== undefined) result.responseBody = hideInJson(responseBody, searched);
  return result;
}

/** The result of a job whose runtime was never called. */
export function notRun(jobId: string, status: "failed" | "cancelled", error: string): RunnerResult {
  return { success: false, jobId, status, error, durationMs: 0 };
}

const END_STATUSES = ["completed", "failed", "timeout", "cancelled"] as const;
const FAILURE: RuntimeResult = { success: false };
const SUCCESS: RuntimeResult = { success: true };

function errorText(error: string | undefined, stop: JobStop | undefined): string {
  if (stop?.abandonedAfterMs !== undefined)
    return `${stop.message}, and abandoned ${stop.abandonedAfterMs} ms later`;
  const isTimeout = stop?.status === "timeout";
  return (isTimeout ? stop.message : (error ?? stop?.message)) ?? "the job failed";
}

/** A runtime that throws has failed. */
export function thrownResult(error: unknown): RuntimeResult {
  return { success: false, error: wholeMessageOf(error) };
}

/** What a runtime returned, without what no record could keep. A host's own runtime may return anything. */
export function checkedResult(returned: unknown, who = "runtime"): RuntimeResult {
  if (returned === undefined) return SUCCESS;
  if (!isFields(returned) || typeof returned["success"] !== "boolean")
    return {
      success: false,
      error: `The ${who} returned ${quote(returned)}, expected { success: true or false }.`,
    };
  const { success, summary, error, exitCode, responseBody, timedOut } = returned;
  return {
    success,
    summary: typeof summary === "string" ? summary : undefined,
    error: error == null || error === "" ? undefined : wholeMessageOf(error),
    exitCode: typeof exitCode === "number" && Number.isSafeInteger(exitCode) ? exitCode : undefined,
    responseBody: responseBody == null ? undefined : keepable(responseBody),
    timedOut: timedOut === true,
  };
}

/** What the executor of a host returned, without what no record could keep. */
export function checkedExecution(returned: unknown): Pick<RunnerResult, "success"> & Partial<RunnerResult> {
  try {
    const { success, summary, error, exitCode, responseBody } = checkedResult(returned, "executor");
    const { jobId, status, durationMs, output }: Fields = isFields(returned) ? returned : {};
    const known = END_STATUSES.find((word) => word === status);
    const isDuration = typeof durationMs === "number" && durationMs >= 0 && durationMs < Infinity;
    return {
      success,
      error: error === undefined ? undefined : cut(error),
      exitCode,
      responseBody,
      summary: summary === undefined ? undefined : cut(summary),
      output: typeof output === "string" ? output : undefined,
      ...(typeof jobId === "string" ? { jobId } : {}),
      ...(known === undefined ? {} : { status: known }),
      ...(isDuration ? { durationMs } : {}),
    };
  } catch (error) {
    return { success: false, error: messageOf(error) };
  }
}

function keepable(body: unknown): unknown {
  try {
    const json: string | undefined = JSON.stringify(body);
    return json === undefined || json.length > LONGEST_RESPONSE ? undefined : JSON.parse(json);
  } catch {
    return undefined;
  }
}

/** Only after secrets are hidden: a cut may leave the beginning of one. */
function cut(text: string): string {
  return text.length > LONGEST_TEXT ? `${text.slice(0, LONGEST_TEXT)}…` : text;
}
