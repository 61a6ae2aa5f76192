/**
 * Runs a job by an HTTP request. A 2xx response is success. A JSON response is kept up to a limit, and not read beyond it.
 */
import { wakeAfter } from "../../clock.js";
import { messageOf } from "../../errors.js";
import { type JobHttpRequest, type HttpTarget, readTarget, redirected, requestOf } from "./http-request.js";
import { LONGEST_RESPONSE } from "../result.js";
import type { Runtime, RuntimeConfiguration, RuntimeContext, RuntimeJob, RuntimeResult } from "../runtime.js";
import { secretsIn } from "../output/secrets.js";

export function httpRuntime(configuration: RuntimeConfiguration, context: RuntimeContext): Runtime {
  const target = readTarget(configuration);
  return { secrets: secretsIn(target.headers), run: (job) => ask(job, target, context) };
}

async function ask(job: RuntimeJob, target: HttpTarget, { clock }: RuntimeContext): Promise<RuntimeResult> {
  const ended = new AbortController();
  const cancel = (): void => ended.abort(job.signal.reason);
  if (job.signal.aborted) cancel();
  else job.signal.addEventListener("abort", cancel, { once: true });
  let timedOut = false;
  const stopWaiting = (): void => {
    timedOut = true;
    ended.abort();
  };
  const cancelTimer =
    target.timeoutMs === undefined ? () => {} : wakeAfter(clock, target.timeoutMs, stopWaiting);
  const { method, url } = target;
  // A path or query may hold secrets.
  const what = `${method} ${url.origin}`;
  try {
    return await follow(requestOf(job, target), target.maxRedirects, ended.signal, (line) => job.log(line));
  } catch (error) {
    if (timedOut)
      return { success: false, timedOut, error: `${what} had no response in ${target.timeoutMs} ms.` };
    return { success: false, error: `${what} failed: ${reasonOf(error)}.` };
  } finally {
    cancelTimer();
    job.signal.removeEventListener("abort", cancel);
  }
}

async function follow(
  first: JobHttpRequest,
  maxRedirects: number,
  signal: AbortSignal,
  log: (line: string) => void,
): Promise<RuntimeResult> {
  let request = first;
  for (let redirects = 0; ; redirects++) {
    const { url, method, headers, body } = request;
    const response = await fetch(url, {
      method,
      headers: { ...headers },
      signal,
      redirect: "manual",
      ...(body === undefined ? {} : { body }),
    });
    const { status } = response;
    const what = `${method} ${url.origin}`;
    log(`${what} returned ${status}`);
    if (![301, 302, 303, 307, 308].includes(status)) return resultOf(what, response);
    await response.body?.cancel();
    if (redirects >= maxRedirects)
      return {
        success: false,
        exitCode: status,
        error: `${what} returned ${status}: more than ${maxRedirects} redirects are not followed.`,
      };
    const next = redirected(request, status, response.headers.get("location"));
    if (typeof next === "string")
      return { success: false, exitCode: status, error: `${what} returned ${status}: ${next}.` };
    request = next;
  }
}

async function resultOf(what: string, response: Response): Promise<RuntimeResult> {
  const { ok: success, status: exitCode } = response;
  const responseBody = await jsonOf(response);
  if (success) return { success, exitCode, responseBody };
  return { success, exitCode, responseBody, error: `${what} returned ${exitCode}.` };
}

/** `undefined` for a body that is too long or not JSON; the status decides the result. */
async function jsonOf({ headers, body }: Response): Promise<unknown> {
  const isJson = /^[^;]*\bjson\b/i.test(headers.get("content-type") ?? "");
  if (body === null) return undefined;
  if (!isJson || Number(headers.get("content-length") ?? 0) > LONGEST_RESPONSE) {
    await body.cancel();
    return undefined;
  }
  const text = await textOf(body);
  try {
    return text === undefined ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** `undefined` for a body that is too long; the rest is not read. */
async function textOf(body: ReadableStream<Uint8Array>): Promise<string | undefined> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    // Leaving the loop cancels the rest.
    if (bytes > LONGEST_RESPONSE) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** The error of `fetch` has the reason in its cause. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  if (!(cause instanceof Error)) return messageOf(error);
  const code = "code" in cause && typeof cause.code === "string" ? cause.code : "";
  return [messageOf(cause), code].filter((part) => part !== "").join(" ");
}
