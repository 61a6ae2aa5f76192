/** An issue as a work item: its id, its priority by its labels, and whether its labels make it available. Pure. */
import { PRIORITIES } from "../work-order.js";
import type { WorkItem, WorkPriority } from "../work-source.js";
import type { GitHubConfig } from "./github-config.js";
import type { Issue } from "./github-shapes.js";

const PUBLIC_API = "https://api.github.com";

/** "github:owner/name#12"; with the host for a server other than github.com. */
export function itemId({ baseUrl, repo }: GitHubConfig, number: number): string {
  const host = baseUrl === PUBLIC_API ? "" : `${new URL(baseUrl).host}/`;
  return `github:${host}${repo}#${number}`;
}

/** The number of an issue of this repository by its item id; `undefined` for any other id. */
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

/** The highest priority of the labels; "medium" without a label of a priority. */
export function priorityOf(
  labels: readonly string[],
  priorityLabels: GitHubConfig["priorityLabels"],
): WorkPriority {
  const names = new Set(labels.map(normalized));
  const hasLevel = (level: WorkPriority): boolean =>
    priorityLabels[level].some((label) => names.has(normalized(label)));
  return PRIORITIES.find(hasLevel) ?? "medium";
}

/** "Priority: High", "priority/high" and "priority-high" count as one label. */
function normalized(label: string): string {
  return label
    .toLowerCase()
    .trim()
    .replace(/\s*[:/_-]\s*|\s+/g, ":");
}

/** GitHub compares labels without regard to case. */
export function hasLabel(issue: Issue, label: string): boolean {
  return issue.labels.some((name) => name.toLowerCase() === label.toLowerCase());
}

export type Availability =
  /** The labels say that it is not claimed. */
  | "ready"
  /** It is or was claimed: the claim comments decide. */
  | "working"
  | "no";

export function availability(issue: Issue, { labels, excludeLabels }: GitHubConfig): Availability {
  if (!issue.isOpen || excludeLabels.some((label) => hasLabel(issue, label))) return "no";
  if (hasLabel(issue, labels.ready)) return "ready";
  return hasLabel(issue, labels.working) ? "working" : "no";
}
