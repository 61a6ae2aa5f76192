/**
 * A claim is a comment on the issue. Only the claim comments and the server's clock decide which claim holds the issue, so
 * all nodes that read the same comments agree: the oldest valid claim wins, and deleting its comment ends it. Pure.
 */
import { isoTimeMs } from "../../iso-time.js";
import { type GitHubConfig, LONGEST_CLAIM_MS } from "./github-config.js";
import type { IssueComment } from "./github-shapes.js";

/** All times are the server's. */
export interface ClaimMark {
  readonly commentId: number;
  readonly token: string;
  readonly createdAt: Date;
  readonly expiresAt: Date;
}

export interface ClaimStanding {
  /** The oldest valid claim, which holds the issue. */
  readonly holder: ClaimMark | undefined;
  /** How long that claim still lasts; 0 without a holder. */
  readonly leftMs: number;
  /** The claims whose time is over. */
  readonly expired: readonly ClaimMark[];
}

/** At the start of a comment only, because a quoted claim is not a claim. */
const CLAIM = /^<!-- rota:claim token=([0-9a-f]{24}) seconds=(\d{1,10})(?: before=(\S{1,40}))? -->/;

/** The text that a claim comment starts with. */
export function claimMark(token: string): string {
  return `<!-- rota:claim token=${token} `;
}

export function claimText(token: string, { claimExpiry, claimExpiryMs }: GitHubConfig): string {
  return written(token, `seconds=${claimExpiryMs / 1_000}`, `for ${claimExpiry}`);
}

/**
 * The text of the same claim with its time counted from `now`. It counts only when it is written before the claim expires:
 * a late renewal must not revive a claim after a different node has claimed the issue.
 */
export function renewedText(claim: ClaimMark, now: Date, { claimExpiryMs }: GitHubConfig): string {
  const lastsMs = now.getTime() - claim.createdAt.getTime() + claimExpiryMs;
  const until = new Date(now.getTime() + claimExpiryMs).toISOString();
  const terms = `seconds=${Math.floor(lastsMs / 1_000)} before=${claim.expiresAt.toISOString()}`;
  return written(claim.token, terms, `until ${until}`);
}

function written(token: string, terms: string, howLong: string): string {
  return `${claimMark(token)}${terms} -->\nClaimed by Rota ${howLong}. This comment is the claim: deleting it ends the claim.`;
}

/** The claims on an issue at `now`, the server's time. The comments must be in the order of their ids. */
export function claimStanding(
  comments: readonly IssueComment[],
  now: Date,
  claimers: GitHubConfig["claimers"],
): ClaimStanding {
  const claims = comments.flatMap((comment) => readClaim(comment, claimers) ?? []);
  const holder = claims.find(({ expiresAt }) => expiresAt > now);
  return {
    holder,
    leftMs: holder === undefined ? 0 : holder.expiresAt.getTime() - now.getTime(),
    expired: claims.filter(({ expiresAt }) => expiresAt <= now),
  };
}

export function mayClaim(author: string | undefined, claimers: GitHubConfig["claimers"]): boolean {
  return claimers === undefined || claimers.includes(author?.toLowerCase() ?? "");
}

function readClaim(comment: IssueComment, claimers: GitHubConfig["claimers"]): ClaimMark | undefined {
  const [, token, seconds, before] = CLAIM.exec(comment.body) ?? [];
  if (token === undefined || !mayClaim(comment.author, claimers)) return undefined;
  const { id, createdAt, updatedAt } = comment;
  const endMs = createdAt.getTime() + Number(seconds) * 1_000;
  const formerEndMs = before === undefined ? Infinity : (isoTimeMs(before) ?? 0);
  const isInTime = updatedAt.getTime() < formerEndMs;
  // Whatever the comment says, so that no comment blocks an issue for ever.
  const latestMs = updatedAt.getTime() + LONGEST_CLAIM_MS;
  const expiresAt = new Date(Math.min(endMs, latestMs, isInTime ? Infinity : formerEndMs));
  return { commentId: id, token, createdAt, expiresAt };
}
