/**
 * Runs a job by asking a web server. An answer of the 200s is success; its JSON is kept up to a limit, and nothing is
 * read beyond that. What is asked is decided in http-request.ts.
 */
import {
  exchange,
  failureReason,
  type HttpRequest,
  HttpTimeoutError,
  readText,
  type Received,
} from "../../http-exchange.js";
import { type HttpTarget, readTarget, redirected, requestOf } from "./http-request.js";
import { LONGEST_RESPONSE } from "../result.js";
import type { Runtime, RuntimeConfiguration, RuntimeContext, RuntimeJob, RuntimeResult } from "../runtime.js";
import { secretsInHeaders } from "../output/secrets.js";

export function httpRuntime(configuration: RuntimeConfiguration, context: RuntimeContext): Runtime {
  const target = readTarget(configuration);
  return { secrets: secretsInHeaders(target.headers), run: (job) => ask(job, target, context) };
}

async function ask(job: RuntimeJob, target: HttpTarget, { clock }: RuntimeContext): Promise<RuntimeResult> {
  const { timeoutMs, maxRedirects } = target;
  const receive = async (
    response: Response,
    request: HttpRequest,
    redirects: number,
  ): Promise<Received<RuntimeResult>> => {
    const { status } = response;
    const what = nameOf(request);
    job.log(`${what} returned ${status}`);
    if (![301, 302, 303, 307, 308].includes(status)) return { result: await resultOf(what, response) };
    await response.body?.cancel();
    const next =
      redirects < maxRedirects
        ? redirected(request, status, response.headers.get("location"))
        : `more than ${maxRedirects} redirects are not followed`;
    if (typeof next !== "string") return { next };
    return { result: { success: false, exitCode: status, error: `${what} returned ${status}: ${next}.` } };
  };
  try {
    return await exchange(requestOf(job, target), { clock, signal: job.signal, timeoutMs, receive });
  } catch (error) {
    if (error instanceof HttpTimeoutError)
      return {
        success: false,
        timedOut: true,
        error: `${nameOf(target)} had no response in ${timeoutMs} ms.`,
      };
    return { success: false, error: `${nameOf(target)} failed: ${failureReason(error)}.` };
  }
}

/** Without the path, which may hold a secret. */
function nameOf({ method, url }: Pick<HttpRequest, "method" | "url">): string {
  return `${method} ${url.origin}`;
}

async function resultOf(what: string, response: Response): Promise<RuntimeResult> {
  const { ok: success, status: exitCode } = response;
  const responseBody = await jsonOf(response);
  if (success) return { success, exitCode, responseBody };
  return { success, exitCode, responseBody, error: `${what} returned ${exitCode}.` };
}

/** `undefined` for a body that is too long or not JSON, which does not make the job fail. */
async function jsonOf(response: Response): Promise<unknown> {
  const { headers, body } = response;
  const isJson = /^[^;]*\bjson\b/i.test(headers.get("content-type") ?? "");
  if (body === null) return undefined;
  if (!isJson || Number(headers.get("content-length") ?? 0) > LONGEST_RESPONSE) {
    await body.cancel();
    return undefined;
  }
  const text = await readText(response, LONGEST_RESPONSE);
  try {
    return text === undefined ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}
