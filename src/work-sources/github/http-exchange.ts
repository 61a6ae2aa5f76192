/**
 * One HTTP request and its answer, on plain `fetch`: a time limit by the clock, a limit to the size, and redirects only
 * within the same origin, because the token goes along. What an answer means, and whether to try again, is elsewhere.
 */
import { type Clock, wakeAfter } from "../../clock.js";
import { messageOf } from "../../errors.js";

export interface HttpRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
  readonly signal: AbortSignal | undefined;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** There was no answer: whether the request took effect is unknown. */
export class NoAnswerError extends Error {
  /** Whether asking again would end the same way. */
  readonly isLasting: boolean;

  constructor(message: string, isLasting = false) {
    super(message);
    this.isLasting = isLasting;
  }
}
NoAnswerError.prototype.name = "NoAnswerError";

/** From sending a request to having read its answer. */
export const ANSWER_LIMIT_MS = 30_000;
/** A hundred issues of the greatest length fit. */
export const LARGEST_ANSWER_BYTES: number = 32 * 2 ** 20;
const MOST_REDIRECTS = 3;
/** These keep the method; for others, only what reads is asked again. */
const KEEPS_METHOD = new Set([307, 308]);
const REDIRECTS = new Set([301, 302, ...KEEPS_METHOD]);

/** Rejects with a NoAnswerError, or with the signal's reason when aborted. */
export async function exchange(clock: Clock, request: HttpRequest): Promise<HttpAnswer> {
  const { signal } = request;
  signal?.throwIfAborted();
  const cut = new AbortController();
  const abort = (): void => cut.abort(signal?.reason);
  signal?.addEventListener("abort", abort, { once: true });
  const late = new NoAnswerError(`no answer within ${ANSWER_LIMIT_MS / 1_000} s`);
  const callOff = wakeAfter(clock, ANSWER_LIMIT_MS, () => cut.abort(late));
  try {
    return await follow(request, cut.signal);
  } catch (error) {
    signal?.throwIfAborted();
    throw error instanceof NoAnswerError ? error : new NoAnswerError(reasonOf(error));
  } finally {
    callOff();
    signal?.removeEventListener("abort", abort);
  }
}

async function follow(request: HttpRequest, signal: AbortSignal): Promise<HttpAnswer> {
  let { url } = request;
  for (let redirects = 0; ; redirects++) {
    const { method, headers, body } = request;
    const init: RequestInit = { method, headers, redirect: "manual", signal };
    if (body !== undefined) init.body = body;
    const response = await fetch(url, init);
    const answer = { status: response.status, headers: response.headers, text: await readText(response) };
    const target = redirectTarget(answer, url, method);
    if (target === undefined) return answer;
    if (redirects === MOST_REDIRECTS) throw new NoAnswerError(`more than ${MOST_REDIRECTS} redirects`, true);
    url = target;
  }
}

/** Where to ask again, if anywhere. */
function redirectTarget({ status, headers }: HttpAnswer, from: URL, method: string): URL | undefined {
  if (!REDIRECTS.has(status)) return undefined;
  const location = headers.get("location");
  if (location === null || !URL.canParse(location, from.href)) return undefined;
  const target = new URL(location, from);
  if (target.origin !== from.origin)
    throw new NoAnswerError(`it redirects to ${target.origin}, which must not see the token`, true);
  return method === "GET" || KEEPS_METHOD.has(status) ? target : undefined;
}

async function readText(response: Response): Promise<string> {
  if (response.body === null) return "";
  const decoder = new TextDecoder();
  let [text, bytes] = ["", 0];
  for await (const chunk of response.body) {
    bytes += chunk.byteLength;
    if (bytes > LARGEST_ANSWER_BYTES)
      throw new NoAnswerError(`its answer is larger than ${LARGEST_ANSWER_BYTES / 2 ** 20} MiB`, true);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

/** `fetch` says "fetch failed", and why only in the cause. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return messageOf(cause) || "the connection failed";
}
