/** Which adapter gets an issue, whatever happens concurrently, and what an adapter leaves that dies at any point. */
import { describe, expect, it } from "vitest";
import type { GitHubSource } from "../../../src/work-sources/github/github-source.js";
import {
  FAILURE,
  GONE,
  HOUR_MS,
  idOf,
  LOST,
  numbersOf,
  rejectionOf,
  oneIssue,
  OLD_CLAIM,
  OLD_TOKEN,
  startScene,
  SUCCESS,
  WON,
} from "./scene.js";
import { isMethod, troubleFor } from "./trouble.js";

describe("a claim", () => {
  it("moves the issue from ready to working", async () => {
    const { github, source, id } = await oneIssue(["bug", "ready"]);
    expect(await source().claimWork(id)).toMatchObject({ ...WON, item: { id, title: "Issue 1" } });
    expect(github.issues.get(1)?.labels).toEqual(["bug", "agent-working"]);
  });

  it("is one readable comment", async () => {
    const { github, source, id } = await oneIssue();
    await source({ claim_expiry: "2h" }).claimWork(id);
    expect(github.commentsOn(1)).toEqual([
      expect.stringMatching(/^<!-- rota:claim token=[0-9a-f]{24} seconds=7200 -->\nClaimed by Rota for 2h\./),
    ]);
  });

  it("has an expiry by the local clock, however wrong that is", async () => {
    const { source, id, clock } = await oneIssue();
    const claim = await source().claimWork(id);
    expect(claim).toMatchObject({ expiresAt: new Date(clock.now().getTime() + HOUR_MS) });
  });

  it("keeps the issue from other adapters", async () => {
    const { source, id } = await oneIssue();
    await source().claimWork(id);
    expect(await source().claimWork(id)).toEqual(LOST);
  });

  it("keeps the issue from a second claim of the same adapter", async () => {
    const { source, id } = await oneIssue();
    const adapter = source();
    expect(await Promise.all([adapter.claimWork(id), adapter.claimWork(id)])).toMatchObject([WON, LOST]);
    expect(await adapter.claimWork(id)).toEqual(LOST);
  });

  it("that cannot be won writes nothing", async () => {
    const { github, source, id } = await oneIssue();
    github.addComment(1, OLD_CLAIM);
    expect(await source().claimWork(id)).toEqual(LOST);
    expect(github.writes).toEqual([]);
  });

  it("on an issue that was closed while claimed returns gone, not taken", async () => {
    const { github, source, id } = await oneIssue();
    github.addComment(1, OLD_CLAIM);
    Object.assign(github.issues.get(1) ?? {}, { state: "closed" });
    expect(await source().claimWork(id)).toEqual(GONE);
  });

  it("counts after any number of comments", async () => {
    const { github, source, id } = await oneIssue();
    for (let count = 0; count < 250; count++) github.addComment(1, "Me too.");
    github.addComment(1, OLD_CLAIM);
    expect(await source().claimWork(id)).toEqual(LOST);
    expect(github.writes).toEqual([]);
  });

  it("that a retry wrote twice is ended with both comments", async () => {
    const { github, source, id } = await oneIssue();
    github.trouble = troubleFor(1, isMethod("POST", "/comments"), "cut-after");
    github.isHidden = () => github.comments.length === 1;
    const adapter = source();
    expect(await adapter.claimWork(id)).toMatchObject(WON);
    expect(github.comments).toHaveLength(2);
    await adapter.releaseWork(id);
    expect(github.comments).toEqual([]);
  });

  it("is not made by a comment that quotes one", async () => {
    const { github, source, id } = await oneIssue();
    github.addComment(1, `> ${OLD_CLAIM}\n\nWho is this?`);
    expect(await source().claimWork(id)).toMatchObject(WON);
  });

  it.each([
    ["is unknown", "github:octo/farm#1"],
    ["is of a different source", "directory:inbox/1.md"],
    ["is not a number", "#1x"],
  ])("on an id that %s returns gone", async (_, id) => {
    const { source } = await startScene();
    expect(await source().claimWork(id)).toEqual(GONE);
  });

  it.each([
    ["closed", { state: "closed" as const }],
    ["not ready", { labels: ["bug"] }],
    ["blocked", { labels: ["ready", "Blocked"] }],
    ["a pull request", { pull_request: {} }],
    ["labelled as working by a person", { labels: ["agent-working"] }],
  ])("on an issue that is %s returns gone, and writes nothing", async (_, issue) => {
    const scene = await startScene();
    scene.github.addIssue(issue);
    expect(await scene.source().claimWork(idOf(scene, 1))).toEqual(GONE);
    expect(scene.github.writes).toEqual([]);
  });
});

describe("of two concurrent claims", () => {
  it("the older wins, and the younger deletes its comment", async () => {
    const { github, source, id } = await oneIssue();
    // A different adapter's claim is written just before this one.
    github.before = (request) => {
      if (isMethod("POST", "/comments")(request) && github.comments.length === 0)
        github.addComment(1, OLD_CLAIM);
    };
    expect(await source().claimWork(id)).toEqual(LOST);
    expect(github.commentsOn(1)).toEqual([OLD_CLAIM]);
    expect(github.issues.get(1)?.labels).toEqual(["ready"]);
  });

  it("the older wins although it becomes visible late", async () => {
    const { github, source, id } = await oneIssue();
    github.before = (request) => {
      if (isMethod("POST", "/comments")(request)) github.addComment(1, OLD_CLAIM);
    };
    // Becomes visible only after the labels are changed.
    github.isHidden = ({ body }) =>
      body === OLD_CLAIM && github.issues.get(1)?.labels.includes("ready") === true;
    expect(await source().claimWork(id)).toEqual(LOST);
    expect(github.commentsOn(1)).toEqual([OLD_CLAIM]);
  });

  it("the younger wins when the older was released before", async () => {
    const { github, source, id } = await oneIssue();
    const [first, second] = [source(), source()];
    await first.claimWork(id);
    await first.releaseWork(id);
    expect(await second.claimWork(id)).toMatchObject(WON);
    expect(github.comments).toHaveLength(1);
  });
});

describe("an issue that a different adapter finishes", () => {
  it.each([
    ["closes", { state: "closed" as const, labels: [] }],
    ["fails", { labels: ["failed"] }],
  ])("and %s between the check and the claim is not claimed again", async (_, change) => {
    const { github, source, id } = await oneIssue();
    github.before = (request) => {
      if (isMethod("POST", "/comments")(request)) Object.assign(github.issues.get(1) ?? {}, change);
    };
    expect(await source().claimWork(id)).toEqual(GONE);
    expect(github.comments).toEqual([]);
  });
});

describe("an adapter that dies", () => {
  it("after its comment keeps the issue until the claim expires", async () => {
    const { github, source, id, clock } = await oneIssue();
    github.addComment(1, OLD_CLAIM);
    clock.pass(HOUR_MS - 1_000);
    expect(await source().claimWork(id)).toEqual(LOST);
    clock.pass(1_000);
    expect(await source().claimWork(id)).toMatchObject(WON);
  });

  it("between the labels leaves an issue that is available when the claim expires", async () => {
    const { github, source, id, clock } = await oneIssue(["ready", "agent-working"]);
    github.addComment(1, OLD_CLAIM);
    const adapter = source();
    expect(await adapter.fetchAvailableWork()).toEqual([]);
    clock.pass(HOUR_MS);
    expect(numbersOf(await adapter.fetchAvailableWork())).toEqual([1]);
    expect(await adapter.claimWork(id)).toMatchObject(WON);
    expect(github.issues.get(1)?.labels).toEqual(["agent-working"]);
  });

  it("after the labels leaves an issue that is available when the claim expires", async () => {
    const { source, id, clock } = await oneIssue();
    await source().claimWork(id);
    const other = source();
    expect(await other.fetchAvailableWork()).toEqual([]);
    clock.pass(HOUR_MS);
    expect(numbersOf(await other.fetchAvailableWork())).toEqual([1]);
    expect(await other.claimWork(id)).toMatchObject(WON);
  });

  it("leaves a comment that the next claim deletes", async () => {
    const { github, source, id, clock } = await oneIssue(["agent-working"]);
    github.addComment(1, OLD_CLAIM);
    clock.pass(HOUR_MS);
    await source().claimWork(id);
    expect(github.commentsOn(1)).toEqual([expect.not.stringContaining(OLD_TOKEN)]);
  });

  it("is succeeded by one of many concurrent adapters", async () => {
    const { source, id, clock } = await oneIssue();
    await source().claimWork(id);
    clock.pass(HOUR_MS);
    const claims = await Promise.all([1, 2, 3, 4].map(() => source().claimWork(id)));
    expect(claims.filter(({ isClaimed }) => isClaimed)).toHaveLength(1);
  });

  it("has lost the issue when it resumes after a different adapter claimed it", async () => {
    const { github, source, id, clock } = await oneIssue();
    const [first, second] = [source(), source()];
    await first.claimWork(id);
    clock.pass(HOUR_MS);
    await second.claimWork(id);
    expect(await first.completeWork(id, SUCCESS)).toBe(false);
    expect(await first.releaseWork(id)).toBe(false);
    expect(await first.renewWork(id)).toBe(false);
    expect(github.issues.get(1)?.state).toBe("open");
    expect(await second.completeWork(id, SUCCESS)).toBe(true);
  });

  it("still has the issue when it resumes and no other adapter claimed it", async () => {
    const { github, source, id, clock } = await oneIssue();
    const adapter = source();
    await adapter.claimWork(id);
    clock.pass(2 * HOUR_MS);
    expect(await adapter.completeWork(id, SUCCESS)).toBe(true);
    expect(github.issues.get(1)).toMatchObject({ state: "closed", labels: [] });
  });

  it.each([
    ["failed", async (other: GitHubSource, id: string) => await other.completeWork(id, FAILURE), []],
    ["released it", async (other: GitHubSource, id: string) => await other.releaseWork(id), ["ready"]],
  ])(
    "has lost the issue to an adapter that %s, even when the old comment is still there",
    async (_, end, labels) => {
      const { github, source, id, clock } = await oneIssue();
      const [first, second] = [source(), source()];
      await first.claimWork(id);
      clock.pass(HOUR_MS);
      const oldId = github.comments[0]?.id;
      github.trouble = troubleFor(1, isMethod("DELETE", `/comments/${oldId}`), { status: 403, body: {} });
      await second.claimWork(id);
      await end(second, id);
      expect(await first.completeWork(id, SUCCESS)).toBe(false);
      expect(github.issues.get(1)).toMatchObject({ state: "open", labels });
    },
  );
});

describe("a claim that fails in the middle", () => {
  it("is released when it was won", async () => {
    const { github, source, id } = await oneIssue();
    github.trouble = troubleFor(1, isMethod("DELETE", "/labels/ready"), {
      status: 403,
      body: { message: "No" },
    });
    expect(await rejectionOf(source().claimWork(id))).toMatchObject({ code: "WORK_SOURCE_FORBIDDEN" });
    expect(github.comments).toEqual([]);
    expect(github.issues.get(1)?.labels).toEqual(["ready"]);
    expect(await source().claimWork(id)).toMatchObject(WON);
  });

  it("stays until it expires when it cannot be released, with a warning", async () => {
    const { github, source, id, lines, clock } = await oneIssue();
    github.trouble = (request) =>
      request.path.includes("/labels") ? { status: 403, body: { message: "No" } } : undefined;
    await rejectionOf(source().claimWork(id));
    expect(lines).toEqual([
      expect.stringContaining("Could not withdraw the claim on octo/farm#1, which lasts for 1h"),
    ]);
    github.trouble = () => undefined;
    expect(await source().claimWork(id)).toEqual(LOST);
    clock.pass(HOUR_MS);
    expect(await source().claimWork(id)).toMatchObject(WON);
  });
});
