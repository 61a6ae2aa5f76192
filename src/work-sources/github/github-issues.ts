/**
 * The calls on the issues of one repository: list, read, comment, label, close.
 * All are idempotent except writing a comment, which therefore searches for the comment before a retry.
 */
import type { Logger } from "../../logger.js";
import { BoundedCache } from "../../bounded-cache.js";
import { WorkSourceError } from "../errors.js";
import { type ApiResponse, type ApiRequest, type GitHubApi, UnknownEffectError } from "./github-api.js";
import type { GitHubConfig } from "./github-config.js";
import { type Issue, type IssueComment, readComment, readIssue } from "./github-shapes.js";

export interface IssueQuery {
  readonly label: string;
  readonly sort: "created" | "updated";
  readonly signal: AbortSignal | undefined;
}

export interface CommentList {
  /** Oldest first. */
  readonly comments: readonly IssueComment[];
  /** The server's time. */
  readonly now: Date;
}

const PAGE = 100;
/** Ends a list whose server always sends a next page. */
const MOST_ISSUE_PAGES = 100;
/** GitHub allows 2500 comments on an issue. */
const MOST_COMMENT_PAGES = 30;
const KEPT_PAGES = 16;
const MOST_WRITES = 3;
const MISSING = [404, 410];

export class GitHubIssues {
  readonly #api: GitHubApi;
  readonly #config: GitHubConfig;
  readonly #logger: Logger;
  /** By address. GitHub does not count a response of "not modified" against the rate limit. */
  readonly #pages = new BoundedCache<string, ApiResponse>(KEPT_PAGES);
  #hasWarned = false;

  constructor(api: GitHubApi, config: GitHubConfig, logger: Logger) {
    this.#api = api;
    this.#config = config;
    this.#logger = logger;
  }

  /** Open issues with a label, page by page, oldest first, without pull requests. */
  async *list({ label, sort, signal }: IssueQuery): AsyncGenerator<readonly Issue[]> {
    const query = new URLSearchParams({
      state: "open",
      labels: label,
      sort,
      direction: "asc",
      per_page: `${PAGE}`,
    });
    let path: string | URL | undefined = `${this.#repoPath}/issues?${query.toString()}`;
    for (let pages = 0; path !== undefined && pages < MOST_ISSUE_PAGES; pages++) {
      const page: ApiResponse = await this.#page(path, signal);
      yield this.#readAll(page.body, readIssue).filter(({ isPullRequest }) => !isPullRequest);
      path = page.next;
    }
  }

  /** `undefined` for an issue that does not exist, was deleted, or was moved to a different repository. */
  async get(number: number, signal?: AbortSignal): Promise<Issue | undefined> {
    const response = await this.#api.request({
      method: "GET",
      path: this.#path(number),
      expected: MISSING,
      signal,
    });
    if (MISSING.includes(response.status)) return undefined;
    const issue = readIssue(response.body);
    if (issue === undefined) throw this.#malformed();
    // GitHub redirects to the new repository of an issue that was moved.
    return issue.number === number && !issue.isPullRequest ? issue : undefined;
  }

  /** `undefined` for an issue that does not exist. */
  async comments(number: number, signal?: AbortSignal): Promise<CommentList | undefined> {
    let path: string | URL | undefined = `${this.#path(number)}/comments?per_page=${PAGE}`;
    const comments: IssueComment[] = [];
    let now: Date | undefined;
    for (let pages = 0; path !== undefined && pages < MOST_COMMENT_PAGES; pages++) {
      const response: ApiResponse = await this.#api.request({
        method: "GET",
        path,
        expected: MISSING,
        signal,
      });
      if (MISSING.includes(response.status)) return undefined;
      comments.push(...this.#readAll(response.body, readComment));
      now = response.sentAt;
      path = response.next;
    }
    if (now === undefined) throw this.#malformed();
    return { comments: comments.toSorted((one, other) => one.id - other.id), now };
  }

  /** Returns the comment; after a failure, finds it by its `mark`. `undefined` for an issue that does not exist. */
  async writeComment(number: number, body: string, mark: string): Promise<IssueComment | undefined> {
    const path = `${this.#path(number)}/comments`;
    const request: ApiRequest = {
      method: "POST",
      path,
      body: { body },
      expected: MISSING,
      isRepeatable: false,
    };
    for (let writes = 1; ; writes++) {
      try {
        const response = await this.#api.request(request);
        if (MISSING.includes(response.status)) return undefined;
        const comment = readComment(response.body);
        if (comment === undefined) throw this.#malformed();
        return comment;
      } catch (error) {
        if (!(error instanceof UnknownEffectError)) throw error;
        await this.#api.pause(writes);
        const list = await this.comments(number);
        const written = list?.comments.find((comment) => comment.body.includes(mark));
        if (written !== undefined) return written;
        if (list === undefined || writes === MOST_WRITES) throw error;
      }
    }
  }

  /** Ignores a comment that does not exist. */
  async editComment(id: number, body: string): Promise<void> {
    const path = `${this.#repoPath}/issues/comments/${id}`;
    await this.#api.request({ method: "PATCH", path, body: { body }, expected: MISSING });
  }

  async deleteComment(id: number): Promise<void> {
    await this.#api.request({
      method: "DELETE",
      path: `${this.#repoPath}/issues/comments/${id}`,
      expected: MISSING,
    });
  }

  /** GitHub creates a label that does not exist yet. */
  async addLabel(number: number, label: string): Promise<void> {
    await this.#api.request({
      method: "POST",
      path: `${this.#path(number)}/labels`,
      body: { labels: [label] },
    });
  }

  /** Ignores a label that the issue does not have. */
  async removeLabel(number: number, label: string): Promise<void> {
    const path = `${this.#path(number)}/labels/${encodeURIComponent(label)}`;
    await this.#api.request({ method: "DELETE", path, expected: MISSING });
  }

  async close(number: number): Promise<void> {
    const body = { state: "closed", state_reason: "completed" };
    await this.#api.request({ method: "PATCH", path: this.#path(number), body });
  }

  async #page(path: string | URL, signal: AbortSignal | undefined): Promise<ApiResponse> {
    const key = String(path);
    const kept = this.#pages.get(key);
    const response = await this.#api.request({ method: "GET", path, etag: kept?.etag, signal });
    if (response.status === 304 && kept !== undefined) return kept;
    return response.etag === undefined ? response : this.#pages.keep(key, response);
  }

  /** Skips malformed entries, with one warning. */
  #readAll<Shape>(list: unknown, read: (value: unknown) => Shape | undefined): readonly Shape[] {
    if (!Array.isArray(list)) throw this.#malformed();
    const shapes = list.flatMap((value: unknown) => read(value) ?? []);
    if (shapes.length < list.length && !this.#hasWarned) {
      this.#hasWarned = true;
      this.#logger.warn(
        `Skipped a malformed issue or comment in a response of GitHub for ${this.#config.repo}.`,
      );
    }
    return shapes;
  }

  get #repoPath(): string {
    return `/repos/${this.#config.repo}`;
  }

  #path(number: number): string {
    return `${this.#repoPath}/issues/${number}`;
  }

  #malformed(): WorkSourceError {
    return new WorkSourceError(
      `The response for ${this.#config.repo} does not have the form of GitHub's. Check base_url.`,
      { code: "WORK_SOURCE_UNAVAILABLE" },
    );
  }
}
