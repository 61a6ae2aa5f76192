/** Reads the parts of GitHub's responses that are used, and checks each, because responses are untrusted input. */
import { isoTimeMs } from "../../iso-time.js";

export interface Issue {
  readonly number: number;
  readonly title: string;
  readonly body: string;
  readonly isOpen: boolean;
  readonly isPullRequest: boolean;
  readonly labels: readonly string[];
  readonly author: string | undefined;
  readonly assignees: readonly string[];
  readonly milestone: string | undefined;
  readonly url: string | undefined;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

export interface IssueComment {
  readonly id: number;
  readonly body: string;
  readonly author: string | undefined;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

type Values = Readonly<Record<string, unknown>>;

/** `undefined` for a value that is not an issue. */
export function readIssue(value: unknown): Issue | undefined {
  const issue = valuesOf(value);
  const { number, title, state } = issue;
  const [createdMs, updatedMs] = [isoTimeMs(issue.created_at), isoTimeMs(issue.updated_at)];
  if (!isId(number) || typeof title !== "string" || (state !== "open" && state !== "closed"))
    return undefined;
  if (createdMs === undefined || updatedMs === undefined || !Array.isArray(issue.labels)) return undefined;
  return {
    number,
    title,
    body: textOf(issue.body) ?? "",
    isOpen: state === "open",
    isPullRequest: issue.pull_request != null,
    labels: namesIn(issue.labels, "name"),
    author: textOf(valuesOf(issue.user)["login"]),
    assignees: namesIn(issue.assignees, "login"),
    milestone: textOf(valuesOf(issue.milestone)["title"]),
    url: webAddress(issue.html_url),
    createdAt: new Date(createdMs),
    updatedAt: new Date(updatedMs),
  };
}

/** `undefined` for a value that is not a comment. */
export function readComment(value: unknown): IssueComment | undefined {
  const comment = valuesOf(value);
  const createdMs = isoTimeMs(comment.created_at);
  const { id } = comment;
  if (!isId(id) || createdMs === undefined) return undefined;
  return {
    id,
    body: textOf(comment.body) ?? "",
    author: textOf(valuesOf(comment.user)["login"]),
    createdAt: new Date(createdMs),
    updatedAt: new Date(isoTimeMs(comment.updated_at) ?? createdMs),
  };
}

function valuesOf(value: unknown): Values {
  return isValues(value) ? value : {};
}

function isValues(value: unknown): value is Values {
  return typeof value === "object" && value !== null;
}

function isId(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) > 0;
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** GitHub sends labels as names, or as objects with a name. */
function namesIn(list: unknown, key: string): readonly string[] {
  if (!Array.isArray(list)) return [];
  return list.flatMap((entry: unknown) => textOf(entry) ?? textOf(valuesOf(entry)[key]) ?? []);
}

function webAddress(value: unknown): string | undefined {
  const address = textOf(value);
  return address !== undefined && /^https?:\/\//.test(address) ? address : undefined;
}
