/** A slow or failing GitHub, and failing connections. */
import { setImmediate } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { FakeClock } from "../../../src/clock.js";
import { REPO } from "./fake-github.js";
import { idOf, numbersOf, rejectionOf, startScene, troubled, UNAVAILABLE, SUCCESS, WON } from "./scene.js";
import { isMethod, type Trouble, troubleFor } from "./trouble.js";

describe.each<[string, Trouble]>([
  ["an internal error", { status: 500, body: "<html>" }],
  ["a bad gateway", { status: 502 }],
  ["a cut connection", "cut-before"],
  ["a connection that is cut after the effect", "cut-after"],
])("after %s", (_, trouble) => {
  it("a read is retried, with longer and longer pauses", async () => {
    const { source, clock } = await troubled(3, trouble);
    expect(numbersOf(await source().fetchAvailableWork())).toEqual([1]);
    expect(clock.slept).toHaveLength(3);
    for (const [index, ms] of clock.slept.entries()) {
      expect(ms).toBeGreaterThanOrEqual(250 * 2 ** index);
      expect(ms).toBeLessThan(750 * 2 ** index);
    }
  });

  it("a read fails after four attempts", async () => {
    const { source, github } = await troubled(Infinity, trouble);
    const error = await rejectionOf(source().fetchAvailableWork());
    expect(error).toMatchObject(UNAVAILABLE);
    expect(error.message).toContain(`A request to GitHub for ${REPO} failed`);
    expect(github.requests).toHaveLength(4);
  });

  it("a comment is written once, whether the failed request wrote it or not", async () => {
    const scene = await startScene();
    scene.github.addIssue();
    scene.github.trouble = troubleFor(1, isMethod("POST", "/comments"), trouble);
    expect(await scene.source().claimWork(idOf(scene, 1))).toMatchObject(WON);
    expect(scene.github.comments).toHaveLength(1);
  });

  it("an outcome is reported once, whether the failed request wrote it or not", async () => {
    const scene = await startScene();
    scene.github.addIssue();
    const adapter = scene.source();
    await adapter.claimWork(idOf(scene, 1));
    scene.github.trouble = troubleFor(1, isMethod("POST", "/comments"), trouble);
    expect(await adapter.completeWork(idOf(scene, 1), SUCCESS)).toBe(true);
    expect(scene.github.comments).toHaveLength(1);
  });

  it.each(["POST", "PATCH", "DELETE"])("%s of anything but a comment is retried", async (method) => {
    const scene = await startScene();
    scene.github.addIssue();
    const isComment = isMethod("POST", "/comments");
    let left = 2;
    scene.github.trouble = (request) =>
      request.method === method && !isComment(request) && left-- > 0 ? trouble : undefined;
    const adapter = scene.source();
    await adapter.claimWork(idOf(scene, 1));
    expect(await adapter.completeWork(idOf(scene, 1), SUCCESS)).toBe(true);
    expect(scene.github.issues.get(1)).toMatchObject({ state: "closed", labels: [] });
  });
});

describe("a comment that cannot be written", () => {
  it("fails after three attempts, each after a read of the comments", async () => {
    const scene = await startScene();
    scene.github.addIssue();
    scene.github.trouble = troubleFor(Infinity, isMethod("POST", "/comments"), "cut-before");
    expect(await rejectionOf(scene.source().claimWork(idOf(scene, 1)))).toMatchObject(UNAVAILABLE);
    expect(scene.github.writes).toHaveLength(3);
  });
});

describe("a slow response", () => {
  it("is retried after half a minute", async () => {
    const { source, github } = await troubled(1, "hang");
    const clock = new FakeClock();
    const fetching = source({}, clock).fetchAvailableWork();
    while (github.requests.length === 0) await setImmediate();
    await clock.advance(29_999);
    expect(github.requests).toHaveLength(1);
    await clock.advance(1);
    while (clock.sleeping === 0) await setImmediate();
    await clock.advance(1_000);
    expect(numbersOf(await fetching)).toEqual([1]);
  });

  it("leaves no timer behind", async () => {
    const { source, github } = await startScene();
    github.addIssue();
    const clock = new FakeClock();
    await source({}, clock).fetchAvailableWork();
    expect(clock.sleeping).toBe(0);
  });

  it("is abandoned when the signal fires", async () => {
    const { source, github } = await troubled(1, "hang");
    const [stop, reason] = [new AbortController(), new Error("Stopped.")];
    const fetching = rejectionOf(source().fetchAvailableWork({ signal: stop.signal }));
    while (github.requests.length === 0) await setImmediate();
    stop.abort(reason);
    expect(await fetching).toBe(reason);
  });
});
