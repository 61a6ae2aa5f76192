/** The configuration of a GitHub source: its defaults, and the errors for invalid values. */
import { describe, expect, it } from "vitest";
import { readGitHubConfig } from "../../../src/work-sources/github/github-config.js";
import { itemId, issueNumber, priorityOf } from "../../../src/work-sources/github/issue-item.js";
import { thrownBy } from "../../thrown-by.js";

const LEAST = { type: "github", repo: "octo/farm" };
const config = readGitHubConfig(LEAST);

describe("the configuration of a GitHub source", () => {
  it("needs a repository only", () => {
    expect(config).toEqual({
      repo: "octo/farm",
      labels: { ready: "ready", working: "agent-working", done: undefined, failed: undefined },
      excludeLabels: ["blocked", "wip"],
      claimExpiry: "1h",
      claimExpiryMs: 3_600_000,
      claimers: undefined,
      tokenEnv: "GITHUB_TOKEN",
      baseUrl: "https://api.github.com",
      priorityLabels: expect.objectContaining({ high: ["priority:high", "high", "p1"] }),
    });
  });

  it("may have every key", () => {
    const all = {
      ...LEAST,
      labels: { ready: "todo", working: "doing", done: "did", failed: "oops" },
      exclude_labels: [],
      claim_expiry: "30m",
      claimers: ["My-App[bot]"],
      token_env: "FARM_TOKEN",
      base_url: "https://github.example.com/api/v3/",
      priority_labels: { critical: ["now"] },
    };
    expect(readGitHubConfig(all)).toEqual({
      repo: "octo/farm",
      labels: all.labels,
      excludeLabels: [],
      claimExpiry: "30m",
      claimExpiryMs: 1_800_000,
      claimers: ["my-app[bot]"],
      tokenEnv: "FARM_TOKEN",
      baseUrl: "https://github.example.com/api/v3",
      priorityLabels: { ...config.priorityLabels, critical: ["now"] },
    });
  });

  it.each<[string, unknown, string]>([
    ["repo", undefined, 'nothing. Expected text such as "owner/name"'],
    ["repo", "farm", '"farm". Expected text such as "owner/name"'],
    ["repo", "octo/farm/../x", '"owner/name"'],
    ["labels", ["ready"], "an array. Expected an object"],
    ["labels", { ready: "" }, 'labels.ready in a GitHub work source: ""'],
    ["labels", { working: "a,b" }, "without a comma"],
    ["labels", { ready: "same", working: "Same" }, "a different label for each state"],
    ["labels", { redy: "x" }, 'Unknown key "labels.redy"'],
    ["exclude_labels", "blocked", "an array of labels"],
    ["exclude_labels", ["ok", 7], "exclude_labels[1]"],
    ["claim_expiry", "soon", '"soon". Expected a duration'],
    ["claim_expiry", 60, "60. Expected a duration"],
    ["claim_expiry", "0s", '"1s" to "7d"'],
    ["claim_expiry", "8d", '"1s" to "7d"'],
    ["claimers", [], "an array of logins"],
    ["claimers", ["a b"], "claimers[0]"],
    ["token_env", "ghp-secret", "the name of an environment variable"],
    ["base_url", "github.example.com", "an https address"],
    ["base_url", "http://github.example.com", "an https address"],
    ["base_url", "https://user:secret@github.example.com", "more than a host and a path"],
    ["priority_labels", { urgent: ["x"] }, 'Unknown key "priority_labels.urgent"'],
    ["priority_labels", { low: "x" }, "priority_labels.low"],
    ["repository", "octo/farm", 'Unknown key "repository"'],
  ])("is rejected with %s: %j", (key, value, said) => {
    const error = thrownBy(() => readGitHubConfig({ ...LEAST, [key]: value }));
    expect(error).toMatchObject({ code: "INVALID_WORK_SOURCE", message: expect.stringContaining(said) });
    expect(String(error)).not.toContain("user:secret");
  });
});

describe("the id of an issue", () => {
  it("names the repository", () => {
    expect(itemId(config, 12)).toBe("github:octo/farm#12");
  });

  it("names a server other than github.com", () => {
    const elsewhere = readGitHubConfig({ ...LEAST, base_url: "https://github.example.com/api/v3" });
    expect(itemId(elsewhere, 12)).toBe("github:github.example.com/octo/farm#12");
  });

  it.each([
    ["github:octo/farm#12", 12],
    ["github:octo/farm#012", undefined],
    ["github:octo/farm#0", undefined],
    ["github:octo/barn#12", undefined],
    ["github:octo/farm#12 ", undefined],
    ["12", undefined],
    ["", undefined],
  ])("is parsed: %j is %s", (id, number) => {
    expect(issueNumber(config, id)).toBe(number);
  });
});

describe("the priority of an issue", () => {
  it.each([
    [[], "medium"],
    [["bug"], "medium"],
    [["P0"], "critical"],
    [["priority: critical"], "critical"],
    [["Priority/High"], "high"],
    [["priority - low"], "low"],
    [["P3", "p1"], "high"],
  ])("with the labels %j is %s", (labels, priority) => {
    expect(priorityOf(labels, config.priorityLabels)).toBe(priority);
  });

  it("follows the configured labels", () => {
    const { priorityLabels } = readGitHubConfig({ ...LEAST, priority_labels: { high: ["hot"] } });
    expect(["hot", "p1"].map((label) => priorityOf([label], priorityLabels))).toEqual(["high", "medium"]);
  });
});
