/**
 * Issues of a GitHub repository as work items: a label makes an issue available, a comment claims it, closing ends it.
 * issue-claims.ts makes the claims exclusive; github-api.ts handles failures and rate limits.
 */
import { AsyncLock } from "../../async-lock.js";
import type { Clock } from "../../clock.js";
import { guarded, type Logger } from "../../logger.js";
import type {
  FetchOptions,
  ReleaseOptions,
  WorkClaim,
  WorkItem,
  WorkOutcome,
  WorkSourceAdapter,
  WorkSourceConfig,
} from "../work-source.js";
import { PRIORITIES } from "../work-order.js";
import { GitHubApi } from "./github-api.js";
import { type GitHubConfig, readGitHubConfig } from "./github-config.js";
import { GitHubIssues } from "./github-issues.js";
import type { Issue } from "./github-shapes.js";
import { type HeldIssueClaim, isAvailable, IssueClaims } from "./issue-claims.js";
import { availability, hasLabel, issueNumber, itemOf } from "./issue-item.js";

import { outcomeText, releaseText, reportMark } from "./outcome-comment.js";

export interface GitHubSourceOptions {
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A claimed issue, remembered so that a fetch need not read its comments again. */
interface KnownClaim {
  readonly updatedMs: number;
  /** When to read the comments again, on the monotonic clock; only the server's clock decides whether a claim expired. */
  readonly lookAgainMs: number;
}

const DEFAULT_LIMIT = 50;
/** How many issues' comments a fetch reads, at a request each; the issues with the oldest update come first. */
const MOST_CLAIMS_READ = 20;
/** When to check an issue again that a person labelled, so that it has no claim that expires. */
const UNCLAIMED_REST_MS = 600_000;

/** A work source of type "github"; throws INVALID_WORK_SOURCE for a wrong configuration. */
export function createGitHubSource(config: WorkSourceConfig, options: GitHubSourceOptions): GitHubSource {
  return new GitHubSource(readGitHubConfig(config), options);
}

export class GitHubSource implements WorkSourceAdapter {
  readonly #config: GitHubConfig;
  readonly #clock: Clock;
  readonly #issues: GitHubIssues;
  readonly #claims: IssueClaims;
  readonly #locks = new IssueLocks();
  #known: ReadonlyMap<number, KnownClaim> = new Map();

  constructor(config: GitHubConfig, { clock, logger }: GitHubSourceOptions) {
    const log = guarded(logger);
    this.#config = config;
    this.#clock = clock;
    this.#issues = new GitHubIssues(new GitHubApi(config, clock), config, log);
    this.#claims = new IssueClaims(this.#issues, config, log);
  }

  /** The oldest issues up to `limit`, ordered by priority and then by age. */
  async fetchAvailableWork({ limit = DEFAULT_LIMIT, signal }: FetchOptions = {}): Promise<
    readonly WorkItem[]
  > {
    const issues = [
      ...(await this.#readyIssues(limit, signal)),
      ...(await this.#expiredIssues(limit, signal)),
    ];
    return issues
      .map((issue) => itemOf(issue, this.#config))
      .toSorted(
        (one, other) =>
          PRIORITIES.indexOf(one.priority) - PRIORITIES.indexOf(other.priority) ||
          one.createdAt.getTime() - other.createdAt.getTime() ||
          Number(one.externalId) - Number(other.externalId),
      )
      .slice(0, limit);
  }

  async claimWork(id: string): Promise<WorkClaim> {
    const number = issueNumber(this.#config, id);
    if (number === undefined) return { isClaimed: false, reason: "gone" };
    const claim = await this.#claims.claim(number);
    if (claim.outcome !== "won") return { isClaimed: false, reason: claim.outcome };
    // By the local clock, which may differ from the server's.
    const expiresAt = new Date(this.#clock.now().getTime() + claim.leftMs);
    return { isClaimed: true, item: itemOf(claim.issue, this.#config), expiresAt };
  }

  async renewWork(id: string): Promise<boolean> {
    return await this.#withLock(id, async (number) => await this.#claims.renew(number));
  }

  /** Idempotent: call it again when it fails in the middle. */
  async completeWork(id: string, outcome: WorkOutcome): Promise<boolean> {
    return await this.#withLock(id, async (number) => {
      const claim = await this.#claims.held(number);
      if (claim !== undefined) await this.#complete(claim, outcome);
      return claim !== undefined;
    });
  }

  async releaseWork(id: string, { reason, addComment = false }: ReleaseOptions = {}): Promise<boolean> {
    return await this.#withLock(id, async (number) => {
      const claim = await this.#claims.held(number);
      if (claim === undefined) return false;
      if (addComment && reason !== undefined) await this.#report(claim, releaseText(claim.token, reason));
      await this.#claims.release(claim);
      return true;
    });
  }

  async getWork(id: string): Promise<WorkItem | undefined> {
    const number = issueNumber(this.#config, id);
    const issue = number === undefined ? undefined : await this.#issues.get(number);
    return issue === undefined ? undefined : itemOf(issue, this.#config);
  }

  /** Runs the task under the lock of the issue; `false` for an id of a different source. */
  async #withLock(id: string, task: (number: number) => Promise<boolean>): Promise<boolean> {
    const number = issueNumber(this.#config, id);
    return number !== undefined && (await this.#locks.run(number, () => task(number)));
  }

  async #complete(claim: HeldIssueClaim, outcome: WorkOutcome): Promise<void> {
    const { number, token } = claim;
    const { done, failed, ready, working } = this.#config.labels;
    const isDone = outcome.outcome === "success";
    await this.#report(claim, outcomeText(token, outcome));
    const label = isDone ? done : failed;
    if (label !== undefined) await this.#issues.addLabel(number, label);
    if (isDone) await this.#issues.close(number);
    if (isDone && failed !== undefined) await this.#issues.removeLabel(number, failed); // of an earlier attempt
    if (!isDone) await this.#issues.removeLabel(number, ready); // a person may have added it again
    await this.#issues.removeLabel(number, working);
    await this.#claims.end(claim);
  }

  async #report({ number, token, comments }: HeldIssueClaim, text: string): Promise<void> {
    const mark = reportMark(token);
    if (comments.some(({ body }) => body.startsWith(mark))) return;
    await this.#issues.writeComment(number, text, mark);
  }

  async #readyIssues(limit: number, signal: AbortSignal | undefined): Promise<readonly Issue[]> {
    const { ready, working } = this.#config.labels;
    const found: Issue[] = [];
    for await (const page of this.#issues.list({ label: ready, sort: "created", signal })) {
      // With both labels, a node is claiming the issue or died while claiming it: the claim decides.
      found.push(
        ...page.filter((issue) => availability(issue, this.#config) === "ready" && !hasLabel(issue, working)),
      );
      if (found.length >= limit) break;
    }
    return found;
  }

  /** Issues with the working label whose claims have expired. */
  async #expiredIssues(limit: number, signal: AbortSignal | undefined): Promise<readonly Issue[]> {
    const found: Issue[] = [];
    const known = new Map<number, KnownClaim>();
    let reads = 0;
    for await (const page of this.#issues.list({
      label: this.#config.labels.working,
      sort: "updated",
      signal,
    })) {
      for (const issue of page) {
        if (availability(issue, this.#config) === "no") continue;
        const kept = this.#known.get(issue.number);
        if (kept !== undefined && this.#isCurrent(kept, issue)) {
          known.set(issue.number, kept);
          continue;
        }
        if (++reads > MOST_CLAIMS_READ || found.length >= limit) continue;
        const standing = await this.#claims.standing(issue.number, signal);
        if (standing.holder === undefined && isAvailable(issue, standing, this.#config)) found.push(issue);
        else known.set(issue.number, this.#keep(issue, standing.leftMs || UNCLAIMED_REST_MS));
      }
    }
    this.#known = known;
    return found;
  }

  #keep(issue: Issue, forMs: number): KnownClaim {
    return { updatedMs: issue.updatedAt.getTime(), lookAgainMs: this.#clock.monotonic() + forMs };
  }

  #isCurrent({ updatedMs, lookAgainMs }: KnownClaim, issue: Issue): boolean {
    return updatedMs === issue.updatedAt.getTime() && this.#clock.monotonic() < lookAgainMs;
  }
}

/** A lock for each issue that a call is working on. */
class IssueLocks {
  readonly #locks = new Map<number, { readonly lock: AsyncLock; users: number }>();

  async run<Result>(number: number, task: () => Promise<Result>): Promise<Result> {
    const entry = this.#locks.get(number) ?? { lock: new AsyncLock(), users: 0 };
    this.#locks.set(number, entry);
    entry.users++;
    try {
      return await entry.lock.take(task);
    } finally {
      if (--entry.users === 0) this.#locks.delete(number);
    }
  }
}
