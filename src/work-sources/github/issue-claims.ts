/**
 * Takes and ends the claims of one adapter. Whatever breaks off in the middle leaves an issue that is either ready or
 * has a claim comment, which expires: labels are added before others are removed, and the comment goes last.
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

export type ClaimAnswer =
  | { readonly outcome: "won"; readonly issue: Issue; readonly leftMs: number }
  | { readonly outcome: "taken" | "gone" };

/** A claim that is held, and what was on its issue when that was seen. */
export interface HeldClaim {
  readonly number: number;
  readonly token: string;
  readonly comments: readonly IssueComment[];
}

/** A claim that was seen to be the holder's. */
interface SeenClaim extends HeldClaim {
  readonly mark: ClaimMark;
  /** When, by the server's clock. */
  readonly now: Date;
}

const TAKEN: ClaimAnswer = { outcome: "taken" };
const GONE: ClaimAnswer = { outcome: "gone" };
const NO_CLAIMS: ClaimStanding = { holder: undefined, leftMs: 0, expired: [] };

export class IssueClaims {
  readonly #issues: GitHubIssues;
  readonly #config: GitHubConfig;
  readonly #logger: Logger;
  /** The tokens of the claims that were won here, by the numbers of their issues. */
  readonly #tokens = new Map<number, string>();
  /** Those that are being claimed: who asks for one of them again would only contend with itself. */
  readonly #claiming = new Set<number>();

  constructor(issues: GitHubIssues, config: GitHubConfig, logger: Logger) {
    this.#issues = issues;
    this.#config = config;
    this.#logger = logger;
  }

  async claim(number: number): Promise<ClaimAnswer> {
    if (this.#claiming.has(number)) return TAKEN;
    this.#claiming.add(number);
    try {
      return (await this.#whyNot(number)) ?? (await this.#contend(number));
    } finally {
      this.#claiming.delete(number);
    }
  }

  /** The claim on an issue, if it was won here and still counts. One that nobody took after it expired is taken again. */
  async held(number: number): Promise<SeenClaim | undefined> {
    const token = this.#tokens.get(number);
    if (token === undefined) return undefined;
    const list = await this.#issues.comments(number);
    const { holder, expired } = this.#standing(list);
    if (list !== undefined && holder?.token === token)
      return { number, token, mark: holder, comments: list.comments, now: list.now };
    const isUntaken = holder === undefined && expired.some((claim) => claim.token === token);
    if (isUntaken && (await this.#reclaim(number))) return await this.held(number);
    this.#tokens.delete(number);
    return undefined;
  }

  /** Lets a claim last as long again from now, and answers whether it is held. */
  async renew(number: number): Promise<boolean> {
    const claim = await this.held(number);
    if (claim === undefined) return false;
    await this.#issues.editComment(claim.mark.commentId, renewedText(claim.mark, claim.now, this.#config));
    return (await this.held(number)) !== undefined;
  }

  /** Only what is as it was left: others may have had it, and ended it, in the meantime. */
  async #reclaim(number: number): Promise<boolean> {
    const issue = await this.#issues.get(number);
    if (issue === undefined || availability(issue, this.#config) !== "working") return false;
    return (await this.claim(number)).outcome === "won";
  }

  /** To be called when the labels say what comes next: from here on anybody may claim the issue. */
  async end({ number, token, comments }: HeldClaim): Promise<void> {
    await this.#deleteOwn(comments, token);
    if (this.#tokens.get(number) === token) this.#tokens.delete(number);
  }

  /** Lets anybody take an issue that is claimed. */
  async giveBack(claim: HeldClaim): Promise<void> {
    const { ready, working } = this.#config.labels;
    await this.#issues.addLabel(claim.number, ready);
    await this.#issues.removeLabel(claim.number, working);
    await this.end(claim);
  }

  /** Where the claims on an issue stand. */
  async standing(number: number, signal?: AbortSignal): Promise<ClaimStanding> {
    return this.#standing(await this.#issues.comments(number, signal));
  }

  /** A look before writing anything: most claims that cannot be won end here, and nobody gets mail about them. */
  async #whyNot(number: number): Promise<ClaimAnswer | undefined> {
    const issue = await this.#issues.get(number);
    if (issue === undefined || availability(issue, this.#config) === "no") return GONE;
    const standing = await this.standing(number);
    if (standing.holder !== undefined) return TAKEN;
    return isAvailable(issue, standing, this.#config) ? undefined : GONE;
  }

  async #contend(number: number): Promise<ClaimAnswer> {
    const token = randomToken();
    const comment = await this.#issues.writeComment(number, claimText(token, this.#config), claimMark(token));
    if (comment === undefined) return GONE;
    const claim: HeldClaim = { number, token, comments: [comment] };
    if (!mayClaim(comment.author, this.#config.claimers)) {
      await this.#withdraw(claim);
      throw this.#notAClaimer(comment.author);
    }
    let isMarked = false;
    try {
      const first = await this.standing(number);
      if (first.holder?.token !== token) return await this.#lose(claim);
      // Only now: whoever had it before has changed the issue before it ended its claim.
      const issue = await this.#issues.get(number);
      if (issue === undefined || !isAvailable(issue, first, this.#config))
        return await this.#lose(claim, GONE);
      isMarked = true;
      await this.#markWorking(number);
      // An older claim may come to light late: ids are given before comments can be seen, and copies lag behind.
      const second = await this.standing(number);
      if (second.holder?.token !== token) return await this.#lose(claim);
      this.#tokens.set(number, token);
      await this.#sweep(first.expired);
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

  async #lose(claim: HeldClaim, answer: ClaimAnswer = TAKEN): Promise<ClaimAnswer> {
    await this.#withdraw(claim);
    return answer;
  }

  /** If this fails too, the claim stays until it expires, and brings the issue back. */
  async #withdraw(claim: HeldClaim, isMarked = false): Promise<void> {
    try {
      if (isMarked) await this.giveBack(claim);
      else await this.end(claim);
    } catch (error) {
      this.#logger.warn(
        `A claim on ${this.#config.repo}#${claim.number} could not be withdrawn, and lasts for ${this.#config.claimExpiry}: ${messageOf(error)}`,
      );
    }
  }

  /** Expired claims do no harm, so that nothing depends on this. */
  async #sweep(expired: readonly ClaimMark[]): Promise<void> {
    try {
      for (const { commentId } of expired) await this.#issues.deleteComment(commentId);
    } catch (error) {
      this.#logger.debug?.(
        `An expired claim in ${this.#config.repo} was left where it is: ${messageOf(error)}`,
      );
    }
  }

  /** All with this token: a comment whose writing was uncertain may be there twice. */
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
      `The token in ${this.#config.tokenEnv} is ${author ?? "nobody"}'s, who is not among the claimers of ${this.#config.repo}: add it to claimers.`,
      { code: "WORK_SOURCE_FORBIDDEN" },
    );
  }
}

/** Whether nobody has an issue. One that is marked as worked on and has no claim at all is somebody's by hand. */
export function isAvailable(issue: Issue, { expired }: ClaimStanding, config: GitHubConfig): boolean {
  const state = availability(issue, config);
  return state === "ready" || (state === "working" && expired.length > 0);
}
