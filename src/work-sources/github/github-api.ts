/**
 * Asks GitHub, and asks again where that is safe: after a pause when the server broke or the connection was cut, and
 * when a rate limit is over. On plain `fetch`, whose idle connections keep no process alive; a client library would
 * bring its own timers, and these waits have to go by the Clock.
 */
import type { Clock } from "../../clock.js";
import { messageOf } from "../../errors.js";
import { type Random, systemRandom } from "../../random.js";
import { WorkSourceError } from "../errors.js";
import { judge, sentAt } from "./response-verdict.js";
import type { GitHubConfig } from "./github-config.js";
import { type HttpResponse, NoResponseError, send } from "./github-exchange.js";

export interface ApiRequest {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  /** Below the base address, or the whole address. */
  readonly path: string | URL;
  readonly body?: unknown;
  readonly etag?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Statuses that are answered and not thrown, although they are no success. */
  readonly expected?: readonly number[];
  /** Whether doing it twice does no harm. @default true */
  readonly isRepeatable?: boolean;
}

export interface ApiResponse {
  readonly status: number;
  /** Parsed, and otherwise as it came. */
  readonly body: unknown;
  readonly etag: string | undefined;
  /** The next page. */
  readonly next: URL | undefined;
  /** The server's time. */
  readonly sentAt: Date | undefined;
}

/** What was asked for may have been done, or not: look before asking again. */
export class UnknownEffectError extends WorkSourceError {}
UnknownEffectError.prototype.name = "UnknownEffectError";

const MOST_TRIES = 4;
const FIRST_PAUSE_MS = 500;
/** In all, for one request: longer than the minute that GitHub asks for, shorter than anybody wants to wait. */
export const LONGEST_WAIT_MS = 90_000;
const SHORTEST_TOKEN = 16;
const API_VERSION = "2022-11-28";

export class GitHubApi {
  readonly #config: GitHubConfig;
  readonly #clock: Clock;
  readonly #random: Random;
  /** Asking earlier makes it worse: who goes on during a limit may be banned. */
  #limitedUntilMs = -Infinity;

  constructor(config: GitHubConfig, clock: Clock, random: Random = systemRandom) {
    this.#config = config;
    this.#clock = clock;
    this.#random = random;
  }

  async request(request: ApiRequest): Promise<ApiResponse> {
    const { expected = [], isRepeatable = true, signal } = request;
    let [breaks, limits, waitedMs] = [0, 0, 0];
    for (;;) {
      waitedMs += await this.#waitForLimit(waitedMs, signal);
      let trouble: string;
      let isLasting = false;
      try {
        const answer = await this.#send(request);
        const verdict = judge(answer, { config: this.#config, limits, now: this.#clock.now(), expected });
        if (verdict.kind === "fine") return this.#read(answer);
        if (verdict.kind === "refused") throw verdict.error;
        if (verdict.kind === "limited") {
          limits++;
          this.#limitedUntilMs = this.#clock.monotonic() + verdict.waitMs * (1 + this.#random() / 10);
          continue;
        }
        trouble = verdict.what;
      } catch (error) {
        if (!(error instanceof NoResponseError)) throw error;
        trouble = messageOf(error);
        isLasting = error.isLasting;
      }
      if (!isRepeatable) throw new UnknownEffectError(this.#broken(trouble), unavailable);
      if (++breaks === MOST_TRIES || isLasting) throw new WorkSourceError(this.#broken(trouble), unavailable);
      await this.pause(breaks, signal);
    }
  }

  /** Before a try that follows `breaks` broken ones: longer each time, and never in step with others. */
  async pause(breaks: number, signal?: AbortSignal): Promise<void> {
    await this.#clock.sleep(FIRST_PAUSE_MS * 2 ** (breaks - 1) * (0.5 + this.#random()), signal);
  }

  #broken(trouble: string): string {
    return `GitHub could not be reached about ${this.#config.repo}: ${trouble}. Try again later.`;
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
    const answer = await send({ method, url, headers, body: text }, this.#clock, signal);
    // Whatever echoes the token, it goes no further. What is as short as a word is no token of GitHub's.
    if (token.length < SHORTEST_TOKEN) return answer;
    return { ...answer, text: answer.text.replaceAll(token, "***") };
  }

  /** Read each time: a token may be renewed while the process runs. */
  #token(): string {
    const { tokenEnv } = this.#config;
    const token = process.env[tokenEnv]?.trim() ?? "";
    if (/^[\x21-\x7e]+$/.test(token)) return token;
    // `fetch` would show a malformed one in its message.
    const fault = token === "" ? "is not set" : "is no token: it has spaces or other characters no token has";
    throw new WorkSourceError(
      `The environment variable ${tokenEnv} ${fault}. Set it to a GitHub token that may read and write issues of ${this.#config.repo}.`,
      { code: "WORK_SOURCE_FORBIDDEN" },
    );
  }

  #read(answer: HttpResponse): ApiResponse {
    return {
      status: answer.status,
      body: answer.text === "" ? undefined : this.#parse(answer.text),
      etag: answer.headers.get("etag") ?? undefined,
      next: this.#nextPage(answer.headers.get("link") ?? ""),
      sentAt: sentAt(answer),
    };
  }

  #parse(text: string): unknown {
    try {
      return JSON.parse(text);
    } catch {
      throw new WorkSourceError(
        `GitHub answered about ${this.#config.repo} with what is no JSON. Check base_url, and what is between here and there.`,
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
      `GitHub's next page about ${this.#config.repo} is at ${url.origin}, which must not see the token. Check base_url.`,
      unavailable,
    );
  }
}

const unavailable = { code: "WORK_SOURCE_UNAVAILABLE" } as const;
