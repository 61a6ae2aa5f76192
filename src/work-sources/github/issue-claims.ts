/**
 * Makes and ends the claims of one adapter. A call that fails in the middle leaves an issue that is ready or has a claim
 * comment, which expires: a label is added before the old one is removed, and the comment is deleted last.
 */
import { messageOf } from "../../errors.js";
import type { Logger } from "../../logger.js";
import { randomToken } from "../../random.js";
import { WorkSourceError } from "../errors.js";
import {
  type ClaimMark,
  claimMark,
  claimStanding,
  type ClaimStanding,
  claimText,
  mayClaim,
  renewedText,
} from "./claim-comment.js";
import type { GitHubConfig } from "./github-config.js";
import type { CommentList, GitHubIssues } from "./github-issues.js";
import type { Issue, IssueComment } from "./github-shapes.js";
import { availability } from "./issue-item.js";

export type IssueClaimResult =
  | { readonly outcome: "won"; readonly issue: Issue; readonly leftMs: number }
  | { readonly outcome: "taken" | "gone" };

/** A claim that this adapter holds, and the comments on its issue when that was checked. */
export interface HeldIssueClaim {
  readonly number: number;
  readonly token: string;
  readonly comments: readonly IssueComment[];
}

/** A held claim with its comment. */
interface SeenClaim extends HeldIssueClaim {
  readonly mark: ClaimMark;
  /** When the claim was checked, by the server's clock. */
  readonly now: Date;
}

const TAKEN: IssueClaimResult = { outcome: "taken" };
const GONE: IssueClaimResult = { outcome: "gone" };
const NO_CLAIMS: ClaimStanding = { holder: undefined, leftMs: 0, expired: [] };

export class IssueClaims {
  readonly #issues: GitHubIssues;
  readonly #config: GitHubConfig;
  readonly #logger: Logger;
  /** The tokens of the claims that this adapter won, by the numbers of their issues. */
  readonly #tokens = new Map<number, string>();
  /** The issues that are being claimed now: a second claim would only compete with the first. */
  readonly #claiming = new Set<number>();

  constructor(issues: GitHubIssues, config: GitHubConfig, logger: Logger) {
    this.#issues = issues;
    this.#config = config;
    this.#logger = logger;
  }

  async claim(number: number): Promise<IssueClaimResult> {
    if (this.#claiming.has(number)) return TAKEN;
    this.#claiming.add(number);
    try {
      return (await this.#whyNot(number)) ?? (await this.#compete(number));
    } finally {
      this.#claiming.delete(number);
    }
  }

  /** The claim of this adapter while it counts. An expired claim is made again when no other node has claimed the issue. */
  async held(number: number): Promise<SeenClaim | undefined> {
    const token = this.#tokens.get(number);
    if (token === undefined) return undefined;
    const list = await this.#issues.comments(number);
    const { holder, expired } = this.#standing(list);
    if (list !== undefined && holder?.token === token)
      return { number, token, mark: holder, comments: list.comments, now: list.now };
    const isUnclaimed = holder === undefined && expired.some((claim) => claim.token === token);
    if (isUnclaimed && (await this.#reclaim(number))) return await this.held(number);
    this.#tokens.delete(number);
    return undefined;
  }

  /** Starts the time of a claim anew, and returns whether it is held. */
  async renew(number: number): Promise<boolean> {
    const claim = await this.held(number);
    if (claim === undefined) return false;
    await this.#issues.editComment(claim.mark.commentId, renewedText(claim.mark, claim.now, this.#config));
    return (await this.held(number)) !== undefined;
  }

  /** Only while the labels are unchanged: otherwise a different node claimed the issue and completed it meanwhile. */
  async #reclaim(number: number): Promise<boolean> {
    const issue = await this.#issues.get(number);
    if (issue === undefined || availability(issue, this.#config) !== "working") return false;
    return (await this.claim(number)).outcome === "won";
  }

  /** Call it after the labels are set: from here on any node may claim the issue. */
  async end({ number, token, comments }: HeldIssueClaim): Promise<void> {
    await this.#deleteOwn(comments, token);
    if (this.#tokens.get(number) === token) this.#tokens.delete(number);
  }

  /** Makes a claimed issue available again. */
  async release(claim: HeldIssueClaim): Promise<void> {
    const { ready, working } = this.#config.labels;
    await this.#issues.addLabel(claim.number, ready);
    await this.#issues.removeLabel(claim.number, working);
    await this.end(claim);
  }

  /** The claims on an issue. */
  async standing(number: number, signal?: AbortSignal): Promise<ClaimStanding> {
    return this.#standing(await this.#issues.comments(number, signal));
  }

  /** Checks before the first write: most claims that cannot be won end here, without a comment that GitHub mails to people. */
  async #whyNot(number: number): Promise<IssueClaimResult | undefined> {
    const issue = await this.#issues.get(number);
    if (issue === undefined || availability(issue, this.#config) === "no") return GONE;
    const standing = await this.standing(number);
    if (standing.holder !== undefined) return TAKEN;
    return isAvailable(issue, standing, this.#config) ? undefined : GONE;
  }

  async #compete(number: number): Promise<IssueClaimResult> {
    const token = randomToken();
    const comment = await this.#issues.writeComment(number, claimText(token, this.#config), claimMark(token));
    if (comment === undefined) return GONE;
    const claim: HeldIssueClaim = { number, token, comments: [comment] };
    if (!mayClaim(comment.author, this.#config.claimers)) {
      await this.#withdraw(claim);
      throw this.#notAClaimer(comment.author);
    }
    let isMarked = false;
    try {
      const first = await this.standing(number);
      if (first.holder?.token !== token) return await this.#lose(claim);
      // Read after the claim is won: the previous holder changed the issue before it ended its claim.
      const issue = await this.#issues.get(number);
      if (issue === undefined || !isAvailable(issue, first, this.#config))
        return await this.#lose(claim, GONE);
      isMarked = true;
      await this.#markWorking(number);
      // An older claim may become visible late, because GitHub assigns ids before it shows comments, and replicas lag.
      const second = await this.standing(number);
      if (second.holder?.token !== token) return await this.#lose(claim);
      this.#tokens.set(number, token);
      await this.#deleteExpired(first.expired);
      return { outcome: "won", issue, leftMs: second.leftMs };
    } catch (error) {
      await this.#withdraw(claim, isMarked);
      throw error;
    }
  }

  async #markWorking(number: number): Promise<void> {
    const { ready, working } = this.#config.labels;
    await this.#issues.addLabel(number, working);
    await this.#issues.removeLabel(number, ready);
  }

  async #lose(claim: HeldIssueClaim, answer: IssueClaimResult = TAKEN): Promise<IssueClaimResult> {
    await this.#withdraw(claim);
    return answer;
  }

  /** If this fails too, the issue becomes available when the claim expires. */
  async #withdraw(claim: HeldIssueClaim, isMarked = false): Promise<void> {
    try {
      if (isMarked) await this.release(claim);
      else await this.end(claim);
    } catch (error) {
      this.#logger.warn(
        `Could not withdraw the claim on ${this.#config.repo}#${claim.number}, which lasts for ${this.#config.claimExpiry}: ${messageOf(error)}`,
      );
    }
  }

  /** Ignores failures, because an expired claim has no effect. */
  async #deleteExpired(expired: readonly ClaimMark[]): Promise<void> {
    try {
      for (const { commentId } of expired) await this.#issues.deleteComment(commentId);
    } catch (error) {
      this.#logger.debug?.(`Could not delete an expired claim in ${this.#config.repo}: ${messageOf(error)}`);
    }
  }

  /** Deletes all comments with the token: a retry may have written the claim twice. */
  async #deleteOwn(comments: readonly IssueComment[], token: string): Promise<void> {
    for (const { id, body } of comments)
      if (body.startsWith(claimMark(token))) await this.#issues.deleteComment(id);
  }

  #standing(list: CommentList | undefined): ClaimStanding {
    if (list === undefined) return NO_CLAIMS;
    return claimStanding(list.comments, list.now, this.#config.claimers);
  }

  #notAClaimer(author: string | undefined): WorkSourceError {
    return new WorkSourceError(
      `The token in ${this.#config.tokenEnv} belongs to ${author ?? "an unknown user"}, expected one of the claimers of ${this.#config.repo}: add the login to claimers.`,
      { code: "WORK_SOURCE_FORBIDDEN" },
    );
  }
}

/** Whether an issue without a valid claim can be claimed. With the working label and no claim at all, a person works on it. */
export function isAvailable(issue: Issue, { expired }: ClaimStanding, config: GitHubConfig): boolean {
  const state = availability(issue, config);
  return state === "ready" || (state === "working" && expired.length > 0);
}
