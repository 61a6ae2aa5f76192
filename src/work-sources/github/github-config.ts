/**
 * Checks the configuration of a GitHub work source, which is untrusted, and fills in the defaults.
 * Unknown keys are errors, because they are typing mistakes. The token is never part of a configuration.
 */
import { isFields } from "../../fields.js";
import { durationMs } from "../../duration.js";
import { quote } from "../../errors.js";
import type { WorkSourceError } from "../errors.js";
import { invalidSource } from "../source-config.js";
import type { WorkPriority, WorkSourceConfig } from "../work-source.js";

export interface GitHubLabels {
  readonly ready: string;
  readonly working: string;
  readonly done: string | undefined;
  readonly failed: string | undefined;
}

export interface GitHubConfig {
  /** "owner/name". */
  readonly repo: string;
  readonly labels: GitHubLabels;
  readonly excludeLabels: readonly string[];
  /** The text of the configuration: "1h". */
  readonly claimExpiry: string;
  readonly claimExpiryMs: number;
  /** The logins whose claims count; `undefined` for all logins. */
  readonly claimers: readonly string[] | undefined;
  readonly tokenEnv: string;
  /** Without a slash at the end. */
  readonly baseUrl: string;
  readonly priorityLabels: Readonly<Record<WorkPriority, readonly string[]>>;
}

/** A longer claim of a node that died would block its issue too long; a comment with a longer claim is cut to this. */
export const LONGEST_CLAIM_MS: number = 7 * 86_400_000;

const DEFAULT_PRIORITY_LABELS: GitHubConfig["priorityLabels"] = {
  critical: ["priority:critical", "critical", "urgent", "p0"],
  high: ["priority:high", "high", "p1"],
  medium: ["priority:medium", "medium", "p2"],
  low: ["priority:low", "low", "p3"],
};
/** The forms of values, which the schema of configuration files uses too. */
export const REPO_FORM: RegExp = /^[\w.-]+\/[\w.-]+$/;
export const LOGIN_FORM: RegExp = /^[\w-]+(\[bot\])?$/;
export const VARIABLE_FORM: RegExp = /^[A-Za-z_]\w*$/;

const KEYS = new Set([
  "type",
  "repo",
  "labels",
  "exclude_labels",
  "claim_expiry",
  "claimers",
  "token_env",
  "base_url",
  "priority_labels",
]);
const LABEL_KEYS = new Set(["ready", "working", "done", "failed"]);
const PRIORITIES = new Set(Object.keys(DEFAULT_PRIORITY_LABELS));
const LOOPBACK = new Set(["localhost", "127.0.0.1", "[::1]"]);

type Values = Readonly<Record<string, unknown>>;

export function readGitHubConfig(config: WorkSourceConfig): GitHubConfig {
  requireKnown(config, KEYS, "");
  const claimExpiry = text(config, "claim_expiry", "1h", /^\d+[smhd]$/, 'a duration such as "30m" or "1h"');
  return {
    repo: text(config, "repo", undefined, REPO_FORM, 'text such as "owner/name"'),
    labels: readLabels(config.labels),
    excludeLabels: labelList(config.exclude_labels ?? ["blocked", "wip"], "exclude_labels"),
    claimExpiry,
    claimExpiryMs: readExpiry(claimExpiry),
    claimers: config.claimers === undefined ? undefined : loginList(config.claimers),
    tokenEnv: text(config, "token_env", "GITHUB_TOKEN", VARIABLE_FORM, "the name of an environment variable"),
    baseUrl: readBaseUrl(text(config, "base_url", "https://api.github.com", /./, "an address")),
    priorityLabels: readPriorityLabels(config.priority_labels),
  };
}

function readLabels(value: unknown): GitHubLabels {
  const labels = record(value ?? {}, "labels");
  requireKnown(labels, LABEL_KEYS, "labels.");
  const named = (key: string): string | undefined =>
    labels[key] === undefined ? undefined : label(labels[key], `labels.${key}`);
  const read = {
    ready: named("ready") ?? "ready",
    working: named("working") ?? "agent-working",
    done: named("done"),
    failed: named("failed"),
  };
  const names = Object.values(read).flatMap((name) => (name === undefined ? [] : [name.toLowerCase()]));
  if (new Set(names).size < names.length)
    throw invalid("labels", names.join(", "), "a different label for each state");
  return read;
}

function readExpiry(claimExpiry: string): number {
  const ms = durationMs(claimExpiry) ?? 0;
  if (ms >= 1_000 && ms <= LONGEST_CLAIM_MS) return ms;
  throw invalid("claim_expiry", claimExpiry, 'a duration from "1s" to "7d"');
}

function readBaseUrl(value: string): string {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  // A token must not be sent unencrypted, except to this machine.
  const isSafe = url?.protocol === "https:" || (url?.protocol === "http:" && LOOPBACK.has(url.hostname));
  const isPlain = url !== undefined && `${url.username}${url.password}${url.search}${url.hash}` === "";
  if (url !== undefined && isSafe && isPlain) return url.href.replace(/\/+$/, "");
  // Does not show the value, which may hold a password.
  const shown = isPlain ? value : "an address with more than a host and a path";
  throw invalid("base_url", shown, 'an https address such as "https://github.example.com/api/v3"');
}

function readPriorityLabels(value: unknown): GitHubConfig["priorityLabels"] {
  const levels = record(value ?? {}, "priority_labels");
  requireKnown(levels, PRIORITIES, "priority_labels.");
  const read = (level: WorkPriority): readonly string[] =>
    levels[level] === undefined
      ? DEFAULT_PRIORITY_LABELS[level]
      : labelList(levels[level], `priority_labels.${level}`);
  return { critical: read("critical"), high: read("high"), medium: read("medium"), low: read("low") };
}

function requireKnown(values: Values, known: ReadonlySet<string>, prefix: string): void {
  for (const key of Object.keys(values)) {
    if (known.has(key)) continue;
    throw invalidSource(
      `Unknown key ${quote(prefix + key)} in a GitHub work source: expected ${[...known].join(", ")}.`,
    );
  }
}

function text(
  values: Values,
  key: string,
  byDefault: string | undefined,
  form: RegExp,
  expected: string,
): string {
  const value = values[key] ?? byDefault;
  if (typeof value === "string" && form.test(value)) return value;
  throw invalid(key, value, expected);
}

function record(value: unknown, key: string): Values {
  if (isFields(value)) return value;
  throw invalid(key, value, "an object");
}

/** A comma separates labels in a query, so a name must not contain one. */
export function isLabel(value: unknown): value is string {
  return typeof value === "string" && /^[^,]{1,50}$/.test(value) && value.trim() === value;
}

function label(value: unknown, key: string): string {
  if (isLabel(value)) return value;
  throw invalid(key, value, "the name of a label: 1 to 50 characters without a comma");
}

function labelList(value: unknown, key: string): readonly string[] {
  if (!Array.isArray(value)) throw invalid(key, value, "an array of labels");
  return value.map((entry: unknown, index) => label(entry, `${key}[${index}]`));
}

function loginList(value: unknown): readonly string[] {
  if (!Array.isArray(value) || value.length === 0) throw invalid("claimers", value, "an array of logins");
  return value.map((login: unknown, index) => {
    if (typeof login === "string" && LOGIN_FORM.test(login)) return login.toLowerCase();
    throw invalid(`claimers[${index}]`, login, 'a login such as "octocat" or "my-app[bot]"');
  });
}

function invalid(key: string, value: unknown, expected: string): WorkSourceError {
  const given = value === undefined ? "nothing" : quote(value);
  return invalidSource(`Invalid ${key} in a GitHub work source: ${given}. Expected ${expected}.`);
}
