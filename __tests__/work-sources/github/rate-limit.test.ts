/** How long a request waits for a rate limit, and the error when that is too long. */
import { describe, expect, it } from "vitest";
import { idOf, numbersOf, rejectionOf, startScene, troubled, UNAVAILABLE, WON } from "./scene.js";
import { type FakeAnswer, isMethod, troubleFor } from "./trouble.js";

describe("a rate limit", () => {
  const inSeconds = (seconds: number): string => String(Date.parse("2026-03-01T00:00:00Z") / 1_000 + seconds);

  it.each<[string, FakeAnswer, number]>([
    ["has Retry-After", { status: 429, headers: { "retry-after": "30" } }, 30_000],
    [
      "has Retry-After as a date",
      { status: 429, headers: { "retry-after": "Sun, 01 Mar 2026 00:00:20 GMT" } },
      20_000,
    ],
    [
      "has a reset time",
      { status: 403, headers: { "x-ratelimit-remaining": "0", "x-ratelimit-reset": inSeconds(40) } },
      40_000,
    ],
    [
      "has a reset time in the past",
      { status: 403, headers: { "x-ratelimit-remaining": "0", "x-ratelimit-reset": inSeconds(-5) } },
      1_000,
    ],
    [
      "is only named in the message",
      { status: 403, body: { message: "You have exceeded a secondary rate limit." } },
      60_000,
    ],
    ["has a status only", { status: 429 }, 60_000],
  ])("that %s delays the request", async (_, answer, leastMs) => {
    const { source, clock } = await troubled(1, answer);
    expect(numbersOf(await source().fetchAvailableWork())).toEqual([1]);
    expect(clock.slept).toHaveLength(1);
    expect(clock.slept[0]).toBeGreaterThanOrEqual(leastMs);
    expect(clock.slept[0]).toBeLessThan(leastMs * 1.1);
  });

  it("is measured by the server's clock", async () => {
    const scene = await startScene({ skewMs: 1_000_000 });
    const headers = { "x-ratelimit-remaining": "0", "x-ratelimit-reset": inSeconds(1_040) };
    scene.github.trouble = troubleFor(1, () => true, { status: 403, headers });
    await scene.source().fetchAvailableWork();
    expect(scene.clock.slept[0]).toBeLessThan(44_000);
  });

  it("that lasts too long is an error with the time for a retry", async () => {
    const { source, clock } = await troubled(1, { status: 429, headers: { "retry-after": "3600" } });
    const error = await rejectionOf(source().fetchAvailableWork());
    expect(error).toMatchObject(UNAVAILABLE);
    expect(error.message).toMatch(/rate limit .* try again after 2026-03-01T01:0\d:\d\d\.\d{3}Z\.$/);
    expect(clock.slept).toEqual([]);
  });

  it("that repeats becomes an error in the end", async () => {
    const { source, clock } = await troubled(Infinity, { status: 429, headers: { "retry-after": "30" } });
    expect(await rejectionOf(source().fetchAvailableWork())).toMatchObject(UNAVAILABLE);
    expect(clock.slept.length).toBeLessThan(3);
  });

  it("delays all further requests until its end", async () => {
    const { source, github, clock } = await troubled(1, { status: 429, headers: { "retry-after": "3600" } });
    const adapter = source();
    await rejectionOf(adapter.fetchAvailableWork());
    clock.pass(3_000_000);
    expect(await rejectionOf(adapter.fetchAvailableWork())).toMatchObject(UNAVAILABLE);
    expect(github.requests).toHaveLength(1);
    clock.pass(1_000_000);
    expect(numbersOf(await adapter.fetchAvailableWork())).toEqual([1]);
  });

  it("delays a comment, which is written once", async () => {
    const scene = await startScene();
    scene.github.addIssue();
    const limit = { status: 403, headers: { "retry-after": "5" } };
    scene.github.trouble = troubleFor(1, isMethod("POST", "/comments"), limit);
    expect(await scene.source().claimWork(idOf(scene, 1))).toMatchObject(WON);
    expect(scene.github.comments).toHaveLength(1);
  });
});
