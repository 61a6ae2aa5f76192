/**
 * Sends one request to GitHub, and follows redirects only within the same origin, because the request carries the token.
 * What a response means, and whether to retry, is decided in response-verdict.ts and github-api.ts.
 */
import type { Clock } from "../../clock.js";
import { exchange, failureReason, type HttpRequest, readText, type Received } from "../../http-exchange.js";

export interface HttpResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** No response arrived: whether the request took effect is unknown. */
export class NoResponseError extends Error {
  /** Whether a retry would fail the same way. */
  readonly isLasting: boolean;

  constructor(message: string, isLasting = false) {
    super(message);
    this.isLasting = isLasting;
  }
}
NoResponseError.prototype.name = "NoResponseError";

/** From sending a request to the end of its response. */
export const RESPONSE_LIMIT_MS = 30_000;
/** A hundred issues of the greatest length fit. */
export const LARGEST_RESPONSE_BYTES: number = 32 * 2 ** 20;
const MOST_REDIRECTS = 3;
/** Redirects that keep the method. After all other redirects only a GET is sent again. */
const KEEPS_METHOD = new Set([307, 308]);
const REDIRECTS = new Set([301, 302, ...KEEPS_METHOD]);

/** Rejects with a NoResponseError, or with the signal's reason when aborted. */
export async function send(
  request: HttpRequest,
  clock: Clock,
  signal: AbortSignal | undefined,
): Promise<HttpResponse> {
  try {
    return await exchange(request, { clock, signal, timeoutMs: RESPONSE_LIMIT_MS, receive });
  } catch (error) {
    signal?.throwIfAborted();
    throw error instanceof NoResponseError ? error : new NoResponseError(failureReason(error));
  }
}

async function receive(
  response: Response,
  request: HttpRequest,
  redirects: number,
): Promise<Received<HttpResponse>> {
  const { status, headers } = response;
  const text = await readText(response, LARGEST_RESPONSE_BYTES);
  if (text === undefined)
    throw new NoResponseError(`its response is larger than ${LARGEST_RESPONSE_BYTES / 2 ** 20} MiB`, true);
  const url = redirectTarget(response, request);
  if (url === undefined) return { result: { status, headers, text } };
  if (redirects === MOST_REDIRECTS) throw new NoResponseError(`more than ${MOST_REDIRECTS} redirects`, true);
  return { next: { ...request, url } };
}

/** `undefined` for a response that is not a redirect to follow. */
function redirectTarget({ status, headers }: Response, { url, method }: HttpRequest): URL | undefined {
  if (!REDIRECTS.has(status)) return undefined;
  const location = headers.get("location");
  if (location === null || !URL.canParse(location, url.href)) return undefined;
  const target = new URL(location, url);
  if (target.origin !== url.origin)
    throw new NoResponseError(`it redirects to ${target.origin}, which must not see the token`, true);
  return method === "GET" || KEEPS_METHOD.has(status) ? target : undefined;
}
