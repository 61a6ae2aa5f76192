/** An issue as a work item: its id, its priority by its labels, and whether its labels let it be taken. Pure. */
import type { WorkItem, WorkPriority } from "../work-source.js";
import type { GitHubConfig } from "./github-config.js";
import type { Issue } from "./github-shapes.js";

const PUBLIC_API = "https://api.github.com";
/** The first that fits counts. */
const PRIORITIES: readonly WorkPriority[] = ["critical", "high", "medium", "low"];

/** "github:owner/name#12"; with the host where it is not github.com. */
export function itemId({ baseUrl, repo }: GitHubConfig, number: number): string {
  const host = baseUrl === PUBLIC_API ? "" : `${new URL(baseUrl).host}/`;
  return `github:${host}${repo}#${number}`;
}

/** The number in an id of this repository; `undefined` for any other id. */
export function issueNumber(config: GitHubConfig, id: string): number | undefined {
  const number = Number(/#([1-9]\d{0,14})$/.exec(id)?.[1] ?? NaN);
  return id === itemId(config, number) ? number : undefined;
}

export function itemOf(issue: Issue, config: GitHubConfig): WorkItem {
  const { number, title, body, labels, url, createdAt, updatedAt, author, assignees, milestone } = issue;
  return {
    id: itemId(config, number),
    source: "github",
    externalId: String(number),
    title,
    description: body,
    priority: priorityOf(labels, config.priorityLabels),
    labels,
    metadata: { repo: config.repo, number, author: author ?? null, assignees, milestone: milestone ?? null },
    url,
    createdAt,
    updatedAt,
  };
}

/** The highest that a label stands for; "medium" when none does. */
export function priorityOf(
  labels: readonly string[],
  priorityLabels: GitHubConfig["priorityLabels"],
): WorkPriority {
  const worn = new Set(labels.map(bare));
  return PRIORITIES.find((level) => priorityLabels[level].some((label) => worn.has(bare(label)))) ?? "medium";
}

/** "Priority: High", "priority/high" and "priority-high" are one label to people. */
function bare(label: string): string {
  return label
    .toLowerCase()
    .trim()
    .replace(/\s*[:/_-]\s*|\s+/g, ":");
}

/** GitHub takes labels that differ in case only for the same. */
export function hasLabel(issue: Issue, label: string): boolean {
  return issue.labels.some((name) => name.toLowerCase() === label.toLowerCase());
}

export type Availability =
  /** Nobody has it, as far as the labels tell. */
  | "ready"
  /** Somebody has it or had it: its claim decides. */
  | "working"
  | "no";

export function availability(issue: Issue, { labels, excludeLabels }: GitHubConfig): Availability {
  if (!issue.isOpen || excludeLabels.some((label) => hasLabel(issue, label))) return "no";
  if (hasLabel(issue, labels.ready)) return "ready";
  return hasLabel(issue, labels.working) ? "working" : "no";
}
