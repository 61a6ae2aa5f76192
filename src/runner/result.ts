/** What is said of a job that has ended: from what its runtime answered or threw, and why it was told to end. Pure. */
import { isFields } from "../fields.js";
import { messageOf, quote } from "../errors.js";
import type { RuntimeResult } from "./runtime.js";
import { hideIn, hideInJson } from "./output/secrets.js";

export interface RunnerResult {
  readonly success: boolean;
  readonly jobId: string;
  readonly status: "completed" | "failed" | "timeout" | "cancelled";
  readonly summary?: string | undefined;
  readonly error?: string | undefined;
  readonly durationMs: number;
  /** A process's exit code, or an HTTP status. */
  readonly exitCode?: number | undefined;
  /** Any JSON value. */
  readonly responseBody?: unknown;
  /**
   * What the job wrote, or the last 100 kB of it. Only for who asks an executor `withOutput`, and only when it wrote
   * anything; for everybody else it is in the job log.
   */
  readonly output?: string | undefined;
}

/** Why a job was told to end. */
export type StopCause =
  | { readonly status: "timeout"; readonly timeoutMs: number }
  | { readonly status: "cancelled"; readonly reason: unknown };

/** What became of a call to a runtime. */
export type Ending =
  | { readonly how: "answered"; readonly answer: unknown }
  | { readonly how: "threw"; readonly error: unknown }
  /** It did not end although it was told to. */
  | { readonly how: "abandoned"; readonly graceMs: number };

/** What most jobs of a herd answer. */
export const SUCCESS: RuntimeResult = { success: true };

/** What a record keeps of a job that nobody may have asked to be short. */
const LONGEST_SUMMARY = 4_000;
/** The most characters of a response as JSON that are kept. */
export const LONGEST_RESPONSE: number = 100 * 1024;

/**
 * A job that took longer than it may has timed out, whatever it answered. One that was cancelled and succeeds all the
 * same has completed: its work is done.
 */
export function resultOf(
  jobId: string,
  durationMs: number,
  ending: Ending,
  stop: StopCause | undefined,
  secrets: readonly string[] = [],
): RunnerResult {
  const { timedOut = false, ...said } = saidBy(ending);
  const success = said.success && stop?.status !== "timeout";
  const status = success ? "completed" : (stop?.status ?? (timedOut ? "timeout" : "failed"));
  const result: { -readonly [Key in keyof RunnerResult]: RunnerResult[Key] } = {
    success,
    jobId,
    status,
    durationMs,
  };
  if (said.summary !== undefined) result.summary = cut(hideIn(said.summary, secrets));
  if (!success) result.error = hideIn(errorOf(said.error, ending, stop), secrets);
  if (said.exitCode !== undefined) result.exitCode = said.exitCode;
  if (said.responseBody !== undefined) result.responseBody = hideInJson(said.responseBody, secrets);
  return result;
}

function errorOf(error: string | undefined, ending: Ending, stop: StopCause | undefined): string {
  const told =
    stop?.status === "timeout"
      ? `Timed out after ${stop.timeoutMs} ms`
      : stop !== undefined && (error === undefined || ending.how === "abandoned")
        ? `Cancelled: ${messageOf(stop.reason)}`
        : undefined;
  if (ending.how === "abandoned") return `${told ?? "Told to end"}, and given up ${ending.graceMs} ms later`;
  return told ?? error ?? "the job failed";
}

function saidBy(ending: Ending): RuntimeResult {
  if (ending.how === "threw") return { success: false, error: messageOf(ending.error) };
  if (ending.how === "abandoned") return { success: false };
  return ending.answer === undefined ? { success: true } : checked(ending.answer);
}

/** A runtime of a host may answer anything; what no record could keep is left out. */
function checked(answer: unknown): RuntimeResult {
  if (!isFields(answer) || typeof answer["success"] !== "boolean")
    return {
      success: false,
      error: `The runtime answered ${quote(answer)}, expected { success: true or false }.`,
    };
  const { success, summary, error, exitCode, responseBody, timedOut } = answer;
  return {
    success,
    summary: typeof summary === "string" ? summary : undefined,
    error: error === undefined ? undefined : messageOf(error),
    exitCode: typeof exitCode === "number" && Number.isSafeInteger(exitCode) ? exitCode : undefined,
    responseBody: keepable(responseBody),
    timedOut: timedOut === true,
  };
}

function keepable(body: unknown): unknown {
  if (body === undefined || body === null) return undefined;
  try {
    const json: string | undefined = JSON.stringify(body);
    return json === undefined || json.length > LONGEST_RESPONSE ? undefined : JSON.parse(json);
  } catch {
    return undefined;
  }
}

function cut(text: string): string {
  return text.length > LONGEST_SUMMARY ? `${text.slice(0, LONGEST_SUMMARY)}…` : text;
}
