/**
 * Issues of a GitHub repository as work: a label says that one is ready, a comment claims it, closing it ends it.
 * How claims are exclusive is in issue-claims.ts; what happens when GitHub is slow, broken or limits us, in github-api.ts.
 */
import type { Clock } from "../../clock.js";
import { guarded, type Logger } from "../../logger.js";
import type {
  FetchOptions,
  ReleaseOptions,
  WorkClaim,
  WorkItem,
  WorkOutcome,
  WorkPriority,
  WorkSourceAdapter,
  WorkSourceConfig,
} from "../work-source.js";
import { GitHubApi } from "./github-api.js";
import { type GitHubConfig, readGitHubConfig } from "./github-config.js";
import { GitHubIssues } from "./github-issues.js";
import type { Issue } from "./github-shapes.js";
import { type HeldClaim, isAvailable, IssueClaims } from "./issue-claims.js";
import { availability, hasLabel, issueNumber, itemOf } from "./issue-item.js";
import { IssueTurns } from "./issue-turns.js";
import { outcomeText, releaseText, reportMark } from "./outcome-comment.js";

export interface GitHubSourceOptions {
  readonly clock: Clock;
  readonly logger: Logger;
}

/** What is known of an issue that is worked on, so that its comments need not be read at every fetch. */
interface KnownClaim {
  readonly updatedMs: number;
  /** On the monotonic clock: whether a claim has expired is for the server's to say. */
  readonly lookAgainMs: number;
}

const DEFAULT_LIMIT = 50;
/** Each costs a request; those that were touched longest ago come first. */
const MOST_CLAIMS_READ = 20;
/** An issue that somebody marked by hand has no claim that expires. */
const UNCLAIMED_REST_MS = 600_000;
const RANK: Readonly<Record<WorkPriority, number>> = { critical: 0, high: 1, medium: 2, low: 3 };

/** A work source of type "github"; rejects a wrong configuration with INVALID_WORK_SOURCE. */
export function githubSource(config: WorkSourceConfig, options: GitHubSourceOptions): GitHubSource {
  return new GitHubSource(readGitHubConfig(config), options);
}

export class GitHubSource implements WorkSourceAdapter {
  readonly #config: GitHubConfig;
  readonly #clock: Clock;
  readonly #issues: GitHubIssues;
  readonly #claims: IssueClaims;
  readonly #turns = new IssueTurns();
  #known: ReadonlyMap<number, KnownClaim> = new Map();

  constructor(config: GitHubConfig, { clock, logger }: GitHubSourceOptions) {
    const log = guarded(logger);
    this.#config = config;
    this.#clock = clock;
    this.#issues = new GitHubIssues(new GitHubApi(config, clock), config, log);
    this.#claims = new IssueClaims(this.#issues, config, log);
  }

  /** The highest priority first, then the oldest, among the oldest that fill `limit`. */
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
          RANK[one.priority] - RANK[other.priority] ||
          one.createdAt.getTime() - other.createdAt.getTime() ||
          Number(one.externalId) - Number(other.externalId),
      )
      .slice(0, limit);
  }

  async claimWork(id: string): Promise<WorkClaim> {
    const number = issueNumber(this.#config, id);
    if (number === undefined) return { isClaimed: false, reason: "gone" };
    const answer = await this.#claims.claim(number);
    if (answer.outcome !== "won") return { isClaimed: false, reason: answer.outcome };
    // What is left of it, told by the local clock, whatever the server's says.
    const expiresAt = new Date(this.#clock.now().getTime() + answer.leftMs);
    return { isClaimed: true, item: itemOf(answer.issue, this.#config), expiresAt };
  }

  async renewWork(id: string): Promise<boolean> {
    return await this.#inTurn(id, async (number) => await this.#claims.renew(number));
  }

  /** May be called again when it failed in the middle: what is done already is not done twice. */
  async completeWork(id: string, outcome: WorkOutcome): Promise<boolean> {
    return await this.#inTurn(id, async (number) => {
      const claim = await this.#claims.held(number);
      if (claim !== undefined) await this.#complete(claim, outcome);
      return claim !== undefined;
    });
  }

  async releaseWork(id: string, { reason, addComment = false }: ReleaseOptions = {}): Promise<boolean> {
    return await this.#inTurn(id, async (number) => {
      const claim = await this.#claims.held(number);
      if (claim === undefined) return false;
      if (addComment && reason !== undefined) await this.#report(claim, releaseText(claim.token, reason));
      await this.#claims.giveBack(claim);
      return true;
    });
  }

  async getWork(id: string): Promise<WorkItem | undefined> {
    const number = issueNumber(this.#config, id);
    const issue = number === undefined ? undefined : await this.#issues.get(number);
    return issue === undefined ? undefined : itemOf(issue, this.#config);
  }

  /** `false` for an id of another source. */
  async #inTurn(id: string, task: (number: number) => Promise<boolean>): Promise<boolean> {
    const number = issueNumber(this.#config, id);
    return number !== undefined && (await this.#turns.take(number, () => task(number)));
  }

  async #complete(claim: HeldClaim, outcome: WorkOutcome): Promise<void> {
    const { number, token } = claim;
    const { done, failed, ready, working } = this.#config.labels;
    const isDone = outcome.outcome === "success";
    await this.#report(claim, outcomeText(token, outcome));
    const label = isDone ? done : failed;
    if (label !== undefined) await this.#issues.addLabel(number, label);
    if (isDone) await this.#issues.close(number);
    if (isDone && failed !== undefined) await this.#issues.removeLabel(number, failed); // of an earlier try
    if (!isDone) await this.#issues.removeLabel(number, ready); // somebody may have put it back
    await this.#issues.removeLabel(number, working);
    await this.#claims.end(claim);
  }

  async #report({ number, token, comments }: HeldClaim, text: string): Promise<void> {
    const mark = reportMark(token);
    if (comments.some(({ body }) => body.startsWith(mark))) return;
    await this.#issues.writeComment(number, text, mark);
  }

  async #readyIssues(limit: number, signal: AbortSignal | undefined): Promise<readonly Issue[]> {
    const { ready, working } = this.#config.labels;
    const found: Issue[] = [];
    for await (const page of this.#issues.list({ label: ready, sort: "created", signal })) {
      // With both labels, somebody is claiming it or died while claiming it: its claim decides.
      found.push(
        ...page.filter((issue) => availability(issue, this.#config) === "ready" && !hasLabel(issue, working)),
      );
      if (found.length >= limit) break;
    }
    return found;
  }

  /** Issues that are marked as worked on, and are not. */
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
