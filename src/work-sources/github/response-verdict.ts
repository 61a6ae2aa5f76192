/**
 * Decides what a response of GitHub means: success, a rate limit to wait for, a failure to retry, or a rejection with its
 * error. Pure: github-api.ts waits and retries.
 */
import { WorkSourceError, type WorkSourceErrorCode } from "../errors.js";
import type { GitHubConfig } from "./github-config.js";
import type { HttpResponse } from "./github-exchange.js";

export type Verdict =
  | { readonly kind: "fine" }
  /** A rate limit: the request had no effect, and no request may be sent for this long. */
  | { readonly kind: "limited"; readonly waitMs: number }
  /** The server failed, perhaps after the request took effect. */
  | { readonly kind: "failed"; readonly reason: string }
  | { readonly kind: "rejected"; readonly error: WorkSourceError };

export interface VerdictInput {
  readonly config: Pick<GitHubConfig, "repo" | "tokenEnv">;
  /** How often the request has met a rate limit before. */
  readonly limits: number;
  /** The local time, for a response without a `Date`. */
  readonly now: Date;
  /** Statuses that the caller handles itself. */
  readonly expected: readonly number[];
}

/** GitHub's advice for a limit without a time: a minute, and longer each time. */
const DEFAULT_WAIT_MS = 60_000;
/** GitHub sends times in whole seconds. */
const SHORTEST_WAIT_MS = 1_000;
const SHOWN_CHARACTERS = 200;

export function judgeResponse(response: HttpResponse, input: VerdictInput): Verdict {
  const { status } = response;
  if ((status >= 200 && status < 300) || status === 304) return { kind: "fine" };
  // Checked first, because a rate limit may have an expected status.
  const waitMs = limitMs(response, input);
  if (waitMs !== undefined) return { kind: "limited", waitMs };
  if (input.expected.includes(status)) return { kind: "fine" };
  if (status >= 500 || status === 408) return { kind: "failed", reason: statusText(response) };
  return { kind: "rejected", error: rejection(response, input.config) };
}

/** When the server sent the response, by its clock. */
export function sentAt({ headers }: HttpResponse): Date | undefined {
  const ms = Date.parse(headers.get("date") ?? "");
  return Number.isNaN(ms) ? undefined : new Date(ms);
}

/** How long to send no request; `undefined` for a response that is not about a rate limit. */
function limitMs(response: HttpResponse, { limits, now }: VerdictInput): number | undefined {
  const { status, headers } = response;
  if (status !== 403 && status !== 429) return undefined;
  const nowMs = (sentAt(response) ?? now).getTime();
  const retryAfter = headers.get("retry-after");
  if (retryAfter !== null) {
    const untilMs = /^\d+$/.test(retryAfter) ? nowMs + Number(retryAfter) * 1_000 : Date.parse(retryAfter);
    if (!Number.isNaN(untilMs)) return Math.max(untilMs - nowMs, SHORTEST_WAIT_MS);
  }
  const reset = headers.get("x-ratelimit-reset") ?? "";
  if (headers.get("x-ratelimit-remaining") === "0" && /^\d+$/.test(reset))
    return Math.max(Number(reset) * 1_000 - nowMs, SHORTEST_WAIT_MS);
  if (status === 429 || /rate limit|abuse detection/i.test(reasonIn(response)))
    return DEFAULT_WAIT_MS * 2 ** limits;
  return undefined;
}

function rejection(response: HttpResponse, { repo, tokenEnv }: VerdictInput["config"]): WorkSourceError {
  const why = statusText(response);
  const forbidden: WorkSourceErrorCode = "WORK_SOURCE_FORBIDDEN";
  switch (response.status) {
    case 401:
      return new WorkSourceError(
        `GitHub rejected the token in ${tokenEnv} (${why}): it is wrong, expired or revoked. Set ${tokenEnv} to a valid token.`,
        { code: forbidden },
      );
    case 403:
      return new WorkSourceError(
        `GitHub denied access to ${repo} with the token in ${tokenEnv} (${why}). The token needs read and write access to its issues.`,
        { code: forbidden },
      );
    case 404:
    case 410:
      return new WorkSourceError(
        `GitHub did not find ${repo}, or its issues are disabled (${why}). Check the name, and that the token in ${tokenEnv} has access: GitHub hides what a token may not see.`,
        { code: forbidden },
      );
    case 422:
      return new WorkSourceError(
        `GitHub rejected a request for ${repo} as invalid (${why}). Check the labels in the configuration.`,
        { code: "INVALID_WORK_SOURCE" },
      );
    default:
      return new WorkSourceError(`GitHub sent an unexpected response for ${repo} (${why}).`, {
        code: "WORK_SOURCE_UNAVAILABLE",
      });
  }
}

/** The status and GitHub's reason, short enough for a message. */
function statusText(response: HttpResponse): string {
  const reason = reasonIn(response);
  return reason === "" ? `status ${response.status}` : `status ${response.status}: ${reason}`;
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

/** The message of a validation error, or its field and code. */
function fault(error: unknown): string {
  if (typeof error === "string") return error;
  const { message, field, code }: Record<string, unknown> = Object(error);
  if (typeof message === "string") return message;
  return [field, code].filter((part) => typeof part === "string").join(" ");
}

function oneLine(text: string): string {
  // oxlint-disable-next-line no-control-regex -- the text of a server must not control a terminal
  const line = text.replace(/[\u0000-\u001f\u007f-\u009f\s]+/g, " ").trim();
  return line.length > SHOWN_CHARACTERS ? `${line.slice(0, SHOWN_CHARACTERS)}…` : line;
}
