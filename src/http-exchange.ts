/**
 * An HTTP exchange on plain `fetch`: a request, its redirects and the body of the last response, within one time limit.
 * The caller decides which redirects to follow and what a response means.
 */
import { type Clock, wakeAfter } from "./clock.js";
import { messageOf } from "./errors.js";

export interface HttpRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

export interface ExchangeOptions<Result> {
  readonly clock: Clock;
  readonly signal?: AbortSignal | undefined;
  /** From the first request to the end of the last response. @default no limit */
  readonly timeoutMs?: number | undefined;
  /** Reads or cancels the body. Returns the request that follows a redirect, or the result. */
  readonly receive: (
    response: Response,
    request: HttpRequest,
    redirects: number,
  ) => Promise<Received<Result>>;
}

export type Received<Result> = { readonly next: HttpRequest } | { readonly result: Result };

export class HttpTimeoutError extends Error {}
HttpTimeoutError.prototype.name = "HttpTimeoutError";

/** Rejects with HttpTimeoutError, with the signal's reason, or with the error of `fetch` or `receive`. */
export async function exchange<Result>(
  first: HttpRequest,
  { clock, signal, timeoutMs, receive }: ExchangeOptions<Result>,
): Promise<Result> {
  signal?.throwIfAborted();
  const ended = new AbortController();
  const abort = (): void => ended.abort(signal?.reason);
  signal?.addEventListener("abort", abort, { once: true });
  const giveUp = (): void =>
    ended.abort(new HttpTimeoutError(`no response within ${Number(timeoutMs) / 1_000} s`));
  const stopTimer = timeoutMs === undefined ? undefined : wakeAfter(clock, timeoutMs, giveUp);
  try {
    let request = first;
    for (let redirects = 0; ; redirects++) {
      const { method, url, headers, body } = request;
      const init: RequestInit = { method, headers, redirect: "manual", signal: ended.signal };
      const response = await fetch(url, body === undefined ? init : { ...init, body });
      const received = await receive(response, request, redirects);
      if ("result" in received) return received.result;
      request = received.next;
    }
  } catch (error) {
    ended.signal.throwIfAborted();
    throw error;
  } finally {
    stopTimer?.();
    signal?.removeEventListener("abort", abort);
  }
}

/** The body as text; `undefined` for a body of more than `maxBytes`, whose rest is not read. */
export async function readText({ body }: Response, maxBytes: number): Promise<string | undefined> {
  if (body === null) return "";
  const decoder = new TextDecoder();
  let [text, bytes] = ["", 0];
  for await (const chunk of body) {
    bytes += chunk.byteLength;
    // Leaving the loop cancels the rest.
    if (bytes > maxBytes) return undefined;
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

/** `fetch` says only "fetch failed"; the reason is in its cause, at times only as a code. */
export function failureReason(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const message = messageOf(cause);
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "";
  return message.includes(code) ? message : [message, code].filter((part) => part !== "").join(" ");
}
