/**
 * The issues of one repository, as calls: list, read, comment, label, close.
 * Each may be repeated but writing a comment, which is looked for before it is written again.
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
/** A server that always has another page would be asked for ever. */
const MOST_ISSUE_PAGES = 100;
/** GitHub takes 2500 comments on an issue. */
const MOST_COMMENT_PAGES = 30;
const KEPT_PAGES = 16;
const MOST_WRITES = 3;
const MISSING = [404, 410];

export class GitHubIssues {
  readonly #api: GitHubApi;
  readonly #config: GitHubConfig;
  readonly #logger: Logger;
  /** By address: GitHub does not count an answer of "not modified" against the rate limit. */
  readonly #pages = new BoundedCache<string, ApiResponse>(KEPT_PAGES);
  #hasWarned = false;

  constructor(api: GitHubApi, config: GitHubConfig, logger: Logger) {
    this.#api = api;
    this.#config = config;
    this.#logger = logger;
  }

  /** Open issues with a label, page by page, oldest first; pull requests are left out. */
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

  /** `undefined` when there is none of this number, or not any more, or not here. */
  async get(number: number, signal?: AbortSignal): Promise<Issue | undefined> {
    const answer = await this.#api.request({
      method: "GET",
      path: this.#path(number),
      expected: MISSING,
      signal,
    });
    if (MISSING.includes(answer.status)) return undefined;
    const issue = readIssue(answer.body);
    if (issue === undefined) throw this.#senseless();
    // An issue that was moved to another repository is answered from there.
    return issue.number === number && !issue.isPullRequest ? issue : undefined;
  }

  /** `undefined` when there is no such issue. */
  async comments(number: number, signal?: AbortSignal): Promise<CommentList | undefined> {
    let path: string | URL | undefined = `${this.#path(number)}/comments?per_page=${PAGE}`;
    const comments: IssueComment[] = [];
    let now: Date | undefined;
    for (let pages = 0; path !== undefined && pages < MOST_COMMENT_PAGES; pages++) {
      const answer: ApiResponse = await this.#api.request({ method: "GET", path, expected: MISSING, signal });
      if (MISSING.includes(answer.status)) return undefined;
      comments.push(...this.#readAll(answer.body, readComment));
      now = answer.sentAt;
      path = answer.next;
    }
    if (now === undefined) throw this.#senseless();
    return { comments: comments.toSorted((one, other) => one.id - other.id), now };
  }

  /** Answers the comment, found by its `mark` if it is not certain that it was written; `undefined` without an issue. */
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
        const answer = await this.#api.request(request);
        if (MISSING.includes(answer.status)) return undefined;
        const comment = readComment(answer.body);
        if (comment === undefined) throw this.#senseless();
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

  /** Does nothing when it is gone. */
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

  /** GitHub makes a label that does not exist yet. */
  async addLabel(number: number, label: string): Promise<void> {
    await this.#api.request({
      method: "POST",
      path: `${this.#path(number)}/labels`,
      body: { labels: [label] },
    });
  }

  /** Does nothing when the issue does not have it. */
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
    const answer = await this.#api.request({ method: "GET", path, etag: kept?.etag, signal });
    if (answer.status === 304 && kept !== undefined) return kept;
    return answer.etag === undefined ? answer : this.#pages.set(key, answer);
  }

  /** What has not the shape it should is left out, and harms no other. */
  #readAll<Shape>(list: unknown, read: (value: unknown) => Shape | undefined): readonly Shape[] {
    if (!Array.isArray(list)) throw this.#senseless();
    const shapes = list.flatMap((value: unknown) => read(value) ?? []);
    if (shapes.length < list.length && !this.#hasWarned) {
      this.#hasWarned = true;
      this.#logger.warn(
        `GitHub answered about ${this.#config.repo} with what is no issue or comment; that is skipped.`,
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

  #senseless(): WorkSourceError {
    return new WorkSourceError(
      `GitHub answered about ${this.#config.repo} in a form that is not its own. Check base_url.`,
      { code: "WORK_SOURCE_UNAVAILABLE" },
    );
  }
}
