/** Which issues are available as work items, their fields, and what their outcomes change. */
import { describe, expect, it } from "vitest";
import {
  FAILURE,
  HOUR_MS,
  idOf,
  numbersOf,
  rejectionOf,
  type Scene,
  startScene,
  SUCCESS,
  WON,
} from "./scene.js";
import { isMethod, troubleFor } from "./trouble.js";

type Claimed = Scene & { readonly id: string; readonly adapter: ReturnType<Scene["source"]> };

/** A scene with one claimed issue. */
async function claimed(config: Readonly<Record<string, unknown>> = {}): Promise<Claimed> {
  const scene = await startScene();
  scene.github.addIssue();
  const [id, adapter] = [idOf(scene, 1), scene.source(config)];
  await adapter.claimWork(id);
  return { ...scene, id, adapter };
}

describe("available work of GitHub", () => {
  it("is the open ready issues, without blocked ones, claimed ones and pull requests", async () => {
    const { github, source } = await startScene();
    github.addIssue({ labels: ["bug"] });
    github.addIssue({ labels: ["READY", "bug"] });
    github.addIssue({ state: "closed" });
    github.addIssue({ labels: ["ready", "blocked"] });
    github.addIssue({ labels: ["ready", "WIP"] });
    github.addIssue({ pull_request: {} });
    github.addIssue({ labels: ["agent-working"] });
    expect(numbersOf(await source().fetchAvailableWork())).toEqual([2]);
  });

  it("follows the configured labels", async () => {
    const { github, source } = await startScene();
    github.addIssue({ labels: ["todo", "blocked"] });
    github.addIssue({ labels: ["todo", "later"] });
    const adapter = source({ labels: { ready: "todo" }, exclude_labels: ["later"] });
    expect(numbersOf(await adapter.fetchAvailableWork())).toEqual([1]);
  });

  it("has the most urgent first, then the oldest", async () => {
    const { github, source } = await startScene();
    github.addIssue({ created_at: "2026-02-02T00:00:00Z" });
    github.addIssue({ created_at: "2026-02-01T00:00:00Z" });
    github.addIssue({ labels: ["ready", "Priority: High"] });
    github.addIssue({ labels: ["ready", "p0"] });
    github.addIssue({ labels: ["ready", "low"], created_at: "2026-01-01T00:00:00Z" });
    expect(numbersOf(await source().fetchAvailableWork())).toEqual([4, 3, 2, 1, 5]);
  });

  it("is read page by page until there is enough", async () => {
    const { github, source } = await startScene();
    for (let count = 0; count < 350; count++) github.addIssue();
    const items = await source().fetchAvailableWork({ limit: 150 });
    expect(numbersOf(items)).toEqual(Array.from({ length: 150 }, (_, index) => index + 1));
    expect(github.requests.filter(({ query }) => query.get("labels") === "ready")).toHaveLength(2);
  });

  it("is not sent again while it stays the same", async () => {
    const { github, source } = await startScene();
    github.addIssue();
    const adapter = source();
    const first = await adapter.fetchAvailableWork();
    expect(await adapter.fetchAvailableWork()).toEqual(first);
    const asked = github.requests.filter(({ query }) => query.get("labels") === "ready");
    expect(asked.map(({ headers }) => headers["if-none-match"] !== undefined)).toEqual([false, true]);
  });

  it("is read anew when it has changed", async () => {
    const { github, source } = await startScene();
    github.addIssue();
    const adapter = source();
    await adapter.fetchAvailableWork();
    github.addIssue();
    expect(numbersOf(await adapter.fetchAvailableWork())).toEqual([1, 2]);
  });

  it("does not read the claims of claimed issues again before they can have expired", async () => {
    const { github, source, clock } = await claimed();
    github.addIssue({ labels: ["agent-working"] });
    const other = source();
    const claimsRead = async (): Promise<number> => {
      const before = github.requests.length;
      await other.fetchAvailableWork();
      return github.requests.slice(before).filter(isMethod("GET", "/comments")).length;
    };
    const reads = [await claimsRead(), await claimsRead()];
    clock.pass(HOUR_MS);
    expect([...reads, await claimsRead()]).toEqual([2, 0, 2]);
  });

  it("includes an expired claim among many issues that people labelled", async () => {
    const { github, source, clock } = await startScene();
    for (let count = 0; count < 45; count++) github.addIssue({ labels: ["agent-working"] });
    github.addIssue();
    await source().claimWork(idOf({ github }, 46));
    clock.pass(HOUR_MS);
    const adapter = source();
    const found = [];
    for (let fetches = 0; fetches < 3; fetches++) found.push(...(await adapter.fetchAvailableWork()));
    expect(numbersOf(found)).toContain(46);
  });

  it("skips malformed issues with one warning", async () => {
    const { github, source, lines } = await startScene();
    github.addIssue();
    github.addIssue({ number: -1 });
    const adapter = source();
    await adapter.fetchAvailableWork();
    expect(numbersOf(await adapter.fetchAvailableWork())).toEqual([1]);
    expect(lines).toEqual([expect.stringContaining("octo/farm")]);
  });

  it("rejects with the reason of the signal", async () => {
    const { source } = await startScene();
    const reason = new Error("Stopped.");
    const fetching = source().fetchAvailableWork({ signal: AbortSignal.abort(reason) });
    expect(await rejectionOf(fetching)).toBe(reason);
  });
});

describe("a work item of GitHub", () => {
  it("has the fields of its issue", async () => {
    const scene = await startScene({ basePath: "/api/v3" });
    scene.github.addIssue({ title: "Mend it", body: "The *fence*.", labels: ["ready", "P1"] });
    expect(await scene.source().getWork(idOf(scene, 1))).toEqual({
      id: idOf(scene, 1),
      source: "github",
      externalId: "1",
      title: "Mend it",
      description: "The *fence*.",
      priority: "high",
      labels: ["ready", "P1"],
      metadata: {
        repo: "octo/farm",
        number: 1,
        author: "reporter",
        assignees: ["helper"],
        milestone: "Spring",
      },
      url: "https://github.example/octo/farm/issues/1",
      createdAt: new Date("2026-03-01T00:00:00Z"),
      updatedAt: new Date("2026-03-01T00:00:00Z"),
    });
  });

  it("is found in every state", async () => {
    const scene = await startScene();
    scene.github.addIssue({ state: "closed", labels: [] });
    expect(await scene.source().getWork(idOf(scene, 1))).toMatchObject({ externalId: "1" });
  });

  it("is undefined for an issue that does not exist", async () => {
    const scene = await startScene();
    expect(await scene.source().getWork(idOf(scene, 7))).toBeUndefined();
  });

  it("is undefined for an issue that was moved to a different repository", async () => {
    const scene = await startScene();
    scene.github.addIssue();
    scene.github.addIssue();
    scene.github.trouble = (request) =>
      isMethod("GET", "/issues/2")(request)
        ? { status: 301, headers: { location: "/repos/octo/farm/issues/1" } }
        : undefined;
    expect(await scene.source().getWork(idOf(scene, 2))).toBeUndefined();
  });
});

describe("a success of a GitHub issue", () => {
  it("closes the issue as completed, without the ready and working labels", async () => {
    const { github, adapter, id } = await claimed();
    expect(await adapter.completeWork(id, SUCCESS)).toBe(true);
    expect(github.issues.get(1)).toMatchObject({ state: "closed", state_reason: "completed", labels: [] });
  });

  it("is reported in one comment, and the claim is deleted", async () => {
    const { github, adapter, id } = await claimed();
    await adapter.completeWork(id, {
      ...SUCCESS,
      details: "With nails.",
      artifacts: ["fence.md", "gate.md"],
    });
    expect(github.commentsOn(1)).toEqual([
      expect.stringMatching(
        /^<!-- rota:report token=\w+ -->\n\*\*Done\.\*\*\n\nMended the fence\.\n\nWith nails\.\n\nArtifacts:\n- fence\.md\n- gate\.md$/,
      ),
    ]);
  });

  it("adds the done label, and removes the failed label of an earlier attempt", async () => {
    const { github, adapter, id } = await claimed({ labels: { done: "done", failed: "failed" } });
    github.issues.get(1)?.labels.push("failed");
    await adapter.completeWork(id, SUCCESS);
    expect(github.issues.get(1)?.labels).toEqual(["done"]);
  });

  it("is reported once when it is repeated", async () => {
    const { github, adapter, id } = await claimed();
    await adapter.completeWork(id, SUCCESS);
    expect(await adapter.completeWork(id, SUCCESS)).toBe(false);
    expect(github.comments).toHaveLength(1);
  });

  it("is reported once by two concurrent calls", async () => {
    const { github, adapter, id } = await claimed();
    const answers = await Promise.all([adapter.completeWork(id, SUCCESS), adapter.completeWork(id, SUCCESS)]);
    expect(answers).toEqual([true, false]);
    expect(github.comments).toHaveLength(1);
  });

  it("is reported once when a failed call is repeated", async () => {
    const { github, adapter, id } = await claimed();
    github.trouble = troubleFor(1, isMethod("PATCH"), { status: 403, body: {} });
    await rejectionOf(adapter.completeWork(id, SUCCESS));
    expect(await adapter.completeWork(id, SUCCESS)).toBe(true);
    expect(github.comments).toHaveLength(1);
    expect(github.issues.get(1)?.state).toBe("closed");
  });

  it("ends the claim last, so that no adapter claims an issue that is not closed yet", async () => {
    const { github, adapter, id } = await claimed();
    const before = github.writes.length;
    await adapter.completeWork(id, SUCCESS);
    expect(github.writes.slice(before).at(-1)).toMatch(/^DELETE .*\/comments\/\d+$/);
  });

  it("is cut to the length of a comment", async () => {
    const { github, adapter, id } = await claimed();
    await adapter.completeWork(id, { ...SUCCESS, details: "x".repeat(100_000) });
    expect(github.commentsOn(1)[0]?.length).toBeLessThan(65_536);
  });
});

describe("a failure of a GitHub issue", () => {
  it("leaves the issue open, but not ready", async () => {
    const { github, adapter, id, source } = await claimed();
    expect(await adapter.completeWork(id, FAILURE)).toBe(true);
    expect(github.issues.get(1)).toMatchObject({ state: "open", labels: [] });
    expect(await source().fetchAvailableWork()).toEqual([]);
  });

  it("adds the failed label", async () => {
    const { github, adapter, id } = await claimed({ labels: { failed: "failed" } });
    await adapter.completeWork(id, FAILURE);
    expect(github.issues.get(1)?.labels).toEqual(["failed"]);
  });

  it("shows its error verbatim, whatever it contains", async () => {
    const { github, adapter, id } = await claimed();
    await adapter.completeWork(id, { ...FAILURE, error: "```\n# no heading" });
    expect(github.commentsOn(1)).toEqual([
      expect.stringContaining("**Failed.**\n\nNo wood.\n\n````text\n```\n# no heading\n````"),
    ]);
  });

  it("removes a ready label that a person added meanwhile", async () => {
    const { github, adapter, id } = await claimed();
    github.issues.get(1)?.labels.push("ready");
    await adapter.completeWork(id, FAILURE);
    expect(github.issues.get(1)?.labels).toEqual([]);
  });
});

describe("releasing a GitHub issue", () => {
  it("makes it available to every adapter", async () => {
    const { github, adapter, id, source } = await claimed();
    expect(await adapter.releaseWork(id)).toBe(true);
    expect(github.issues.get(1)?.labels).toEqual(["ready"]);
    expect(github.comments).toEqual([]);
    expect(await source().claimWork(id)).toMatchObject(WON);
  });

  it("writes the reason as a comment with addComment", async () => {
    const { github, adapter, id } = await claimed();
    await adapter.releaseWork(id, { reason: "Going home.", addComment: true });
    expect(github.commentsOn(1)).toEqual([expect.stringMatching(/-->\n\*\*Released\.\*\*\n\nGoing home\.$/)]);
  });

  it("writes no comment without addComment", async () => {
    const { github, adapter, id } = await claimed();
    await adapter.releaseWork(id, { reason: "Going home." });
    expect(github.comments).toEqual([]);
  });

  it("returns false without a claim", async () => {
    const { github, id, source } = await claimed();
    expect(await source().releaseWork(id)).toBe(false);
    expect(github.issues.get(1)?.labels).toEqual(["agent-working"]);
  });
});
