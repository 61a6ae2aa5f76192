/** How long a claim lasts, by which clock, and which logins' claims count. */
import { describe, expect, it } from "vitest";
import { HOUR_MS, idOf, LOST, rejectionOf, oneIssue, OLD_CLAIM, startScene, SUCCESS, WON } from "./scene.js";
import { isMethod } from "./trouble.js";

describe("clocks that differ", () => {
  it.each([
    ["ahead", 5 * HOUR_MS],
    ["behind", -5 * HOUR_MS],
  ])("do not change how long a claim lasts (server %s)", async (_, skewMs) => {
    const scene = await startScene({ skewMs });
    scene.github.addIssue();
    const id = idOf(scene, 1);
    await scene.source().claimWork(id);
    scene.clock.pass(HOUR_MS - 1_000);
    expect(await scene.source().claimWork(id)).toEqual(LOST);
    scene.clock.pass(1_000);
    expect(await scene.source().claimWork(id)).toMatchObject(WON);
  });

  it("cannot be compared without the Date of a response, which is an error", async () => {
    const { github, source, id } = await oneIssue();
    github.trouble = (request) =>
      isMethod("GET", "/comments")(request) ? { status: 200, body: [], headers: { date: "" } } : undefined;
    expect(await rejectionOf(source().claimWork(id))).toMatchObject({ code: "WORK_SOURCE_UNAVAILABLE" });
  });
});

describe("renewing a claim", () => {
  it("extends it each time", async () => {
    const { source, id, clock } = await oneIssue();
    const adapter = source({ claim_expiry: "1d" });
    await adapter.claimWork(id);
    const renewals: boolean[] = [];
    for (let day = 0; day < 10; day++) {
      clock.pass(23 * HOUR_MS);
      renewals.push(await adapter.renewWork(id));
    }
    expect(new Set(renewals)).toEqual(new Set([true]));
    clock.pass(24 * HOUR_MS - 1_000);
    expect(await source().claimWork(id)).toEqual(LOST);
    clock.pass(1_000);
    expect(await source().claimWork(id)).toMatchObject(WON);
  });

  it("keeps it ahead of younger claims", async () => {
    const { github, source, id, clock } = await oneIssue();
    const adapter = source();
    await adapter.claimWork(id);
    github.addComment(1, OLD_CLAIM);
    clock.pass(HOUR_MS / 2);
    expect(await adapter.renewWork(id)).toBe(true);
  });

  it("does not revive a claim that a different adapter replaced during the renewal", async () => {
    const { github, source, id, clock } = await oneIssue();
    const [first, second] = [source(), source()];
    await first.claimWork(id);
    clock.pass(HOUR_MS - 1_000);
    // The claim expires during the renewal, and a different adapter claims the issue without deleting the old comment.
    let isTaken = false;
    github.before = (request) => {
      if (!isMethod("PATCH")(request) || isTaken) return;
      isTaken = true;
      clock.pass(2_000);
      github.addComment(1, OLD_CLAIM);
    };
    expect(await first.renewWork(id)).toBe(false);
    expect(await first.completeWork(id, SUCCESS)).toBe(false);
    expect(await second.claimWork(id)).toEqual(LOST);
  });

  it("returns false without a claim", async () => {
    const { source, id } = await oneIssue();
    expect(await source().renewWork(id)).toBe(false);
  });
});

describe("claims of other logins", () => {
  it("do not count when claimers are configured", async () => {
    const { github, source, id } = await oneIssue();
    github.addComment(1, OLD_CLAIM, "mallory");
    expect(await source({ claimers: ["Rota-Bot"] }).claimWork(id)).toMatchObject(WON);
  });

  it("end after a week, whatever their comments say", async () => {
    const { github, source, id, clock } = await oneIssue();
    github.addComment(1, OLD_CLAIM.replace("seconds=3600", "seconds=9999999999"), "mallory");
    clock.pass(7 * 24 * HOUR_MS - 1_000);
    expect(await source().claimWork(id)).toEqual(LOST);
    clock.pass(1_000);
    expect(await source().claimWork(id)).toMatchObject(WON);
  });

  it("are an error for a token whose login is not one of the claimers", async () => {
    const { github, source, id } = await oneIssue();
    const error = await rejectionOf(source({ claimers: ["somebody-else"] }).claimWork(id));
    expect(error).toMatchObject({
      code: "WORK_SOURCE_FORBIDDEN",
      message: expect.stringContaining("rota-bot"),
    });
    expect(github.comments).toEqual([]);
  });
});
