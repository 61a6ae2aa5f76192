/**
 * What an answer of GitHub means: fine, wait for the rate limit, try again, or refused, and then which error says so.
 * Pure: waiting and asking again are elsewhere.
 */
import { WorkSourceError, type WorkSourceErrorCode } from "../errors.js";
import type { GitHubConfig } from "./github-config.js";
import type { HttpResponse } from "./github-exchange.js";

export type Verdict =
  | { readonly kind: "fine" }
  /** A rate limit: nothing was done, and nothing may be asked for so long. */
  | { readonly kind: "limited"; readonly waitMs: number }
  /** The server broke, perhaps after it had done what was asked. */
  | { readonly kind: "broken"; readonly what: string }
  | { readonly kind: "refused"; readonly error: WorkSourceError };

export interface Circumstances {
  readonly config: Pick<GitHubConfig, "repo" | "tokenEnv">;
  /** How often this has been limited before. */
  readonly limits: number;
  /** The local time, for an answer without a `Date`. */
  readonly now: Date;
  /** Statuses that mean something to who asked. */
  readonly expected: readonly number[];
}

/** GitHub's advice where it does not say how long: a minute, and longer each time. */
const UNSAID_WAIT_MS = 60_000;
/** Times are told in whole seconds. */
const SHORTEST_WAIT_MS = 1_000;
const SHOWN_CHARACTERS = 200;

export function judge(answer: HttpResponse, circumstances: Circumstances): Verdict {
  const { status } = answer;
  if ((status >= 200 && status < 300) || status === 304) return { kind: "fine" };
  // Before what is expected: a limit may come as any of these.
  const waitMs = limitMs(answer, circumstances);
  if (waitMs !== undefined) return { kind: "limited", waitMs };
  if (circumstances.expected.includes(status)) return { kind: "fine" };
  if (status >= 500 || status === 408) return { kind: "broken", what: said(answer) };
  return { kind: "refused", error: refusal(answer, circumstances.config) };
}

/** When the server sent this, by its own clock. */
export function sentAt({ headers }: HttpResponse): Date | undefined {
  const ms = Date.parse(headers.get("date") ?? "");
  return Number.isNaN(ms) ? undefined : new Date(ms);
}

/** How long to ask for nothing; `undefined` when this is not about a rate limit. */
function limitMs(answer: HttpResponse, { limits, now }: Circumstances): number | undefined {
  const { status, headers } = answer;
  if (status !== 403 && status !== 429) return undefined;
  const nowMs = (sentAt(answer) ?? now).getTime();
  const retryAfter = headers.get("retry-after");
  if (retryAfter !== null) {
    const untilMs = /^\d+$/.test(retryAfter) ? nowMs + Number(retryAfter) * 1_000 : Date.parse(retryAfter);
    if (!Number.isNaN(untilMs)) return Math.max(untilMs - nowMs, SHORTEST_WAIT_MS);
  }
  const reset = headers.get("x-ratelimit-reset") ?? "";
  if (headers.get("x-ratelimit-remaining") === "0" && /^\d+$/.test(reset))
    return Math.max(Number(reset) * 1_000 - nowMs, SHORTEST_WAIT_MS);
  if (status === 429 || /rate limit|abuse detection/i.test(reasonIn(answer)))
    return UNSAID_WAIT_MS * 2 ** limits;
  return undefined;
}

function refusal(answer: HttpResponse, { repo, tokenEnv }: Circumstances["config"]): WorkSourceError {
  const why = said(answer);
  const forbidden: WorkSourceErrorCode = "WORK_SOURCE_FORBIDDEN";
  switch (answer.status) {
    case 401:
      return new WorkSourceError(
        `GitHub refused the token in ${tokenEnv} (${why}): it is wrong, expired or revoked. Set ${tokenEnv} to a valid one.`,
        { code: forbidden },
      );
    case 403:
      return new WorkSourceError(
        `GitHub does not let the token in ${tokenEnv} do this in ${repo} (${why}). It needs read and write access to issues there.`,
        { code: forbidden },
      );
    case 404:
    case 410:
      return new WorkSourceError(
        `GitHub finds no ${repo} with issues (${why}). Check its name, and that the token in ${tokenEnv} has access: what a token may not see is not found.`,
        { code: forbidden },
      );
    case 422:
      return new WorkSourceError(
        `GitHub takes a request about ${repo} for invalid (${why}). Check the labels in the configuration.`,
        { code: "INVALID_WORK_SOURCE" },
      );
    default:
      return new WorkSourceError(`GitHub gave an unexpected answer about ${repo} (${why}).`, {
        code: "WORK_SOURCE_UNAVAILABLE",
      });
  }
}

/** The status and what GitHub says about it, short enough for a message. */
function said(answer: HttpResponse): string {
  const reason = reasonIn(answer);
  return reason === "" ? `status ${answer.status}` : `status ${answer.status}: ${reason}`;
}

function reasonIn({ text }: HttpResponse): string {
  try {
    const { message, errors }: { message?: unknown; errors?: unknown } = Object(JSON.parse(text));
    const parts = [message, ...(Array.isArray(errors) ? errors.map(fault) : [])];
    const reason = parts.filter((part) => typeof part === "string" && part !== "").join("; ");
    return oneLine(reason);
  } catch {
    return "";
  }
}

/** Of a validation error: its message, or the field and what is wrong with it. */
function fault(error: unknown): string {
  if (typeof error === "string") return error;
  const { message, field, code }: Record<string, unknown> = Object(error);
  if (typeof message === "string") return message;
  return [field, code].filter((part) => typeof part === "string").join(" ");
}

function oneLine(text: string): string {
  // oxlint-disable-next-line no-control-regex -- what a server says must not write to a terminal
  const line = text.replace(/[\u0000-\u001f\u007f-\u009f\s]+/g, " ").trim();
  return line.length > SHOWN_CHARACTERS ? `${line.slice(0, SHOWN_CHARACTERS)}…` : line;
}
