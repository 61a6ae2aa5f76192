/** What an `http` runtime is to ask: its configuration, checked, and the request that it makes of a job. Pure. */
import { isFields } from "../../fields.js";
import { quote } from "../../errors.js";
import type { HttpRequest } from "../../http-exchange.js";
import { invalidRuntime, refuseUnknownKeys, textAt, timeoutMs, valuesAt } from "../configuration.js";
import type { RuntimeConfiguration, RuntimeJob } from "../runtime.js";
import { escapeJson, fillJson, fillTemplate, slotValues, templateValues } from "./template.js";

export interface HttpTarget {
  readonly url: URL;
  /** The address as it was given. A parsed one has other characters in place of the braces. */
  readonly template: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
  readonly timeoutMs: number | undefined;
  readonly maxRedirects: number;
}

export const HTTP_METHODS: readonly string[] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
const DEFAULT_MAX_REDIRECTS = 3;
const JSON_TYPE = "application/json";

export function readTarget(configuration: RuntimeConfiguration): HttpTarget {
  refuseUnknownKeys(configuration, ["url", "method", "headers", "body", "timeout", "max_redirects"]);
  const method = (textAt(configuration, "method") ?? "POST").toUpperCase();
  if (!HTTP_METHODS.includes(method))
    throw invalidRuntime(`The method of an http runtime is ${quote(method)}, expected one such as "POST".`);
  const { body, max_redirects: maxRedirects = DEFAULT_MAX_REDIRECTS } = configuration;
  if (body !== undefined && typeof body !== "string" && !isFields(body) && !Array.isArray(body))
    throw invalidRuntime(`The body of an http runtime is ${quote(body)}, expected text or a JSON value.`);
  if (typeof maxRedirects !== "number" || !Number.isSafeInteger(maxRedirects) || maxRedirects < 0)
    throw invalidRuntime(
      `The max_redirects of an http runtime is ${quote(maxRedirects)}, expected a whole number from 0.`,
    );
  const template = textAt(configuration, "url") ?? "";
  return {
    url: readUrl(template),
    template,
    method,
    headers: readHeaders(configuration),
    body,
    timeoutMs: timeoutMs(configuration["timeout"], "an http runtime"),
    maxRedirects,
  };
}

/** Not shown where it is wrong: it may hold a password. */
function readUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw invalidRuntime(
      `The url of an http runtime is missing or wrong, expected "https://…" or "http://…".`,
    );
  if (url.username !== "" || url.password !== "")
    throw invalidRuntime("The url of an http runtime holds a name or password: give them as a header.");
  return url;
}

/** Checked here, because fetch shows the value of a header that it refuses. */
function readHeaders(configuration: RuntimeConfiguration): Readonly<Record<string, string>> {
  const headers = valuesAt(configuration, "headers");
  for (const [name, value] of Object.entries(headers))
    if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name) || !/^[\t\x20-\x7e\x80-\xff]*$/.test(value))
      throw invalidRuntime(
        `The header ${quote(name)} of an http runtime cannot be sent: its name or value has a character that none may have.`,
      );
  return headers;
}

export function requestOf(job: RuntimeJob, target: HttpTarget): HttpRequest {
  const { method, body } = target;
  const names = slotValues(job);
  const url = new URL(fillTemplate(target.template, names, encodeURIComponent));
  const headers = Object.fromEntries(
    Object.entries(target.headers).map(([name, value]) => [name, fillTemplate(value, names, asciiText)]),
  );
  if (method === "GET" || method === "HEAD") return { url, method, headers, body: undefined };
  const values = templateValues(job);
  const given = Object.entries(headers).find(([name]) => name.toLowerCase() === "content-type")?.[1];
  if (typeof body !== "string") {
    const text = JSON.stringify(body === undefined ? defaultBody(values) : fillJson(body, values));
    return {
      url,
      method,
      body: text,
      headers: given === undefined ? { ...headers, "content-type": JSON_TYPE } : headers,
    };
  }
  const isJson = given === undefined ? /^\s*[[{]\s*["{[\]}\d]/.test(body) : given.includes("json");
  const text = isJson ? fillTemplate(body, values, escapeJson) : fillTemplate(body, values);
  const type = isJson ? JSON_TYPE : "text/plain;charset=UTF-8";
  return {
    url,
    method,
    body: text,
    headers: given === undefined ? { ...headers, "content-type": type } : headers,
  };
}

/** Without `data` for a job that has none. */
function defaultBody({
  data,
  ...rest
}: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return data === null ? rest : { ...rest, data };
}

/** A header cannot hold other characters. */
function asciiText(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]+/g, encodeURIComponent);
}

/** The headers that describe a body, as the fetch standard lists them. */
const BODY_HEADERS: ReadonlySet<string> = new Set([
  "content-type",
  "content-encoding",
  "content-language",
  "content-location",
]);

/**
 * The request that a redirect asks for; text says why there is none. As fetch does, 307 and 308 repeat the body, also to a
 * different origin. Of the headers such an origin gets the description of the body only, also when it leads back: fetch
 * withholds Authorization, but any other header may hold a credential too.
 */
export function redirected(
  request: HttpRequest,
  status: number,
  location: string | null,
): HttpRequest | string {
  if (location === null || !URL.canParse(location, request.url.href)) return "its redirect leads nowhere";
  const url = new URL(location, request.url);
  if (!/^https?:$/.test(url.protocol)) return "its redirect leads away from HTTP";
  url.username = "";
  url.password = "";
  const isSafe = request.method === "GET" || request.method === "HEAD";
  const becomesGet =
    !isSafe && (status === 303 || ((status === 301 || status === 302) && request.method === "POST"));
  const body = becomesGet ? undefined : request.body;
  if (body !== undefined && request.url.protocol === "https:" && url.protocol === "http:")
    return "its redirect leads from https to http";
  const isSameOrigin = url.origin === request.url.origin;
  const sent = Object.entries(request.headers).filter(([name]) =>
    BODY_HEADERS.has(name.toLowerCase()) ? body !== undefined : isSameOrigin,
  );
  const headers = Object.fromEntries(sent);
  return { url, method: becomesGet ? "GET" : request.method, body, headers };
}
