/**
 * Sends requests to GitHub, and retries where that is safe: after a pause when the server or the connection failed, and at
 * the end of a rate limit. On plain `fetch`, whose idle connections do not keep the process alive; a client library would
 * use its own timers, but all waiting must go by the Clock.
 */
import type { Clock } from "../../clock.js";
import { messageOf } from "../../errors.js";
import { type Random, systemRandom } from "../../random.js";
import { WorkSourceError } from "../errors.js";
import { judgeResponse, sentAt } from "./response-verdict.js";
import type { GitHubConfig } from "./github-config.js";
import { type HttpResponse, NoResponseError, send } from "./github-exchange.js";

export interface ApiRequest {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  /** A path below the base address, or a whole address. */
  readonly path: string | URL;
  readonly body?: unknown;
  readonly etag?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Statuses that are returned and not thrown, although they are not a success. */
  readonly expected?: readonly number[];
  /** Whether the request is idempotent. @default true */
  readonly isRepeatable?: boolean;
}

export interface ApiResponse {
  readonly status: number;
  /** The parsed JSON. */
  readonly body: unknown;
  readonly etag: string | undefined;
  /** The address of the next page. */
  readonly next: URL | undefined;
  /** The server's time. */
  readonly sentAt: Date | undefined;
}

/** The request may have taken effect or not: read the state before a retry. */
export class UnknownEffectError extends WorkSourceError {}
UnknownEffectError.prototype.name = "UnknownEffectError";

const MOST_TRIES = 4;
const FIRST_PAUSE_MS = 500;
/** The longest wait for rate limits in one request: a little more than the minute that GitHub asks for. */
export const LONGEST_WAIT_MS = 90_000;
const SHORTEST_TOKEN = 16;
const API_VERSION = "2022-11-28";

export class GitHubApi {
  readonly #config: GitHubConfig;
  readonly #clock: Clock;
  readonly #random: Random;
  /** No request is sent before this time: GitHub may ban a client that ignores a limit. */
  #limitedUntilMs = -Infinity;

  constructor(config: GitHubConfig, clock: Clock, random: Random = systemRandom) {
    this.#config = config;
    this.#clock = clock;
    this.#random = random;
  }

  async request(request: ApiRequest): Promise<ApiResponse> {
    const { expected = [], isRepeatable = true, signal } = request;
    let [failures, limits, waitedMs] = [0, 0, 0];
    for (;;) {
      waitedMs += await this.#waitForLimit(waitedMs, signal);
      let reason: string;
      let isLasting = false;
      try {
        const response = await this.#send(request);
        const verdict = judgeResponse(response, {
          config: this.#config,
          limits,
          now: this.#clock.now(),
          expected,
        });
        if (verdict.kind === "fine") return this.#read(response);
        if (verdict.kind === "rejected") throw verdict.error;
        if (verdict.kind === "limited") {
          limits++;
          this.#limitedUntilMs = this.#clock.monotonic() + verdict.waitMs * (1 + this.#random() / 10);
          continue;
        }
        reason = verdict.reason;
      } catch (error) {
        if (!(error instanceof NoResponseError)) throw error;
        reason = messageOf(error);
        isLasting = error.isLasting;
      }
      if (!isRepeatable) throw new UnknownEffectError(this.#failure(reason), unavailable);
      if (++failures === MOST_TRIES || isLasting)
        throw new WorkSourceError(this.#failure(reason), unavailable);
      await this.pause(failures, signal);
    }
  }

  /** Waits before a retry: longer after each failure, and for a random time, so that nodes do not retry together. */
  async pause(failures: number, signal?: AbortSignal): Promise<void> {
    await this.#clock.sleep(FIRST_PAUSE_MS * 2 ** (failures - 1) * (0.5 + this.#random()), signal);
  }

  #failure(reason: string): string {
    return `A request to GitHub for ${this.#config.repo} failed: ${reason}. Try again later.`;
  }

  async #waitForLimit(waitedMs: number, signal: AbortSignal | undefined): Promise<number> {
    const leftMs = this.#limitedUntilMs - this.#clock.monotonic();
    if (leftMs <= 0) return 0;
    if (waitedMs + leftMs > LONGEST_WAIT_MS) {
      const until = new Date(this.#clock.now().getTime() + leftMs).toISOString();
      throw new WorkSourceError(
        `GitHub's rate limit for the token in ${this.#config.tokenEnv} is used up: try again after ${until}.`,
        unavailable,
      );
    }
    await this.#clock.sleep(leftMs, signal);
    return leftMs;
  }

  async #send({ method, path, body, etag, signal }: ApiRequest): Promise<HttpResponse> {
    const token = this.#token();
    const headers: Record<string, string> = {
      accept: "application/vnd.github+json",
      authorization: `Bearer ${token}`,
      "cache-control": "no-cache",
      "user-agent": "rota",
      "x-github-api-version": API_VERSION,
    };
    if (body !== undefined) headers["content-type"] = "application/json";
    if (etag !== undefined) headers["if-none-match"] = etag;
    const url = path instanceof URL ? path : new URL(`${this.#config.baseUrl}${path}`);
    const text = body === undefined ? undefined : JSON.stringify(body);
    const response = await send({ method, url, headers, body: text }, this.#clock, signal);
    // Hides a token that the server echoes. A text as short as a word is not a token of GitHub.
    if (token.length < SHORTEST_TOKEN) return response;
    return { ...response, text: response.text.replaceAll(token, "***") };
  }

  /** Read for each request, because a token may be replaced while the process runs. */
  #token(): string {
    const { tokenEnv } = this.#config;
    const token = process.env[tokenEnv]?.trim() ?? "";
    if (/^[\x21-\x7e]+$/.test(token)) return token;
    // The message of `fetch` would show a malformed token.
    const fault =
      token === "" ? "is not set" : "does not hold a token: it has spaces or other invalid characters";
    throw new WorkSourceError(
      `The environment variable ${tokenEnv} ${fault}. Set it to a GitHub token that may read and write issues of ${this.#config.repo}.`,
      { code: "WORK_SOURCE_FORBIDDEN" },
    );
  }

  #read(response: HttpResponse): ApiResponse {
    return {
      status: response.status,
      body: response.text === "" ? undefined : this.#parse(response.text),
      etag: response.headers.get("etag") ?? undefined,
      next: this.#nextPage(response.headers.get("link") ?? ""),
      sentAt: sentAt(response),
    };
  }

  #parse(text: string): unknown {
    try {
      return JSON.parse(text);
    } catch {
      throw new WorkSourceError(
        `The response of GitHub for ${this.#config.repo} is not JSON. Check base_url, and any proxy.`,
        unavailable,
      );
    }
  }

  #nextPage(link: string): URL | undefined {
    const [, target = ""] = /<([^<>]+)>\s*;[^,<]*\brel="?next\b/.exec(link) ?? [];
    if (!URL.canParse(target)) return undefined;
    const url = new URL(target);
    if (url.origin === new URL(this.#config.baseUrl).origin) return url;
    throw new WorkSourceError(
      `GitHub's next page for ${this.#config.repo} is at ${url.origin}, which must not see the token. Check base_url.`,
      unavailable,
    );
  }
}

const unavailable = { code: "WORK_SOURCE_UNAVAILABLE" } as const;
