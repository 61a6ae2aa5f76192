/** Where the token is sent and shown, and where it is not. */
import { describe, expect, it, vi } from "vitest";
import { FakeClock } from "../../../src/clock.js";
import { FakeGitHub, TOKEN } from "./fake-github.js";
import { rejectionOf, startScene, troubled, UNAVAILABLE, FORBIDDEN, TOKEN_ENV } from "./scene.js";
import type { FakeAnswer } from "./trouble.js";

/** The error of a fetch with the response. */
async function errorOf(answer: FakeAnswer): Promise<Error> {
  const { source } = await troubled(1, answer);
  return await rejectionOf(source().fetchAvailableWork());
}

describe("the GitHub token", () => {
  it("is sent with every request", async () => {
    const { source, github } = await startScene();
    await source().fetchAvailableWork();
    expect(new Set(github.requests.map(({ headers }) => headers.authorization))).toEqual(
      new Set([`Bearer ${TOKEN}`]),
    );
  });

  it.each([
    ["is missing", undefined, "is not set"],
    ["is empty", " ", "is not set"],
    ["is malformed", "ghp_secret\nother", "does not hold a token"],
  ])("that %s is an error that names only its variable", async (_, token, fault) => {
    const { source, github } = await startScene();
    vi.stubEnv(TOKEN_ENV, token);
    const error = await rejectionOf(source().fetchAvailableWork());
    expect(error).toMatchObject(FORBIDDEN);
    expect(error.message).toContain(`${TOKEN_ENV} ${fault}`);
    expect(error.message).not.toContain("secret");
    expect(github.requests).toEqual([]);
  });

  it("may change while the adapter is in use", async () => {
    const { source, github } = await startScene();
    const adapter = source();
    await adapter.fetchAvailableWork();
    github.accounts.clear();
    github.accounts.set("ghp_another", "rota-bot");
    vi.stubEnv(TOKEN_ENV, "ghp_another\n");
    expect(await adapter.fetchAvailableWork()).toEqual([]);
  });

  it("is not in an error, even when the server repeats it", async () => {
    const error = await errorOf({ status: 403, body: { message: `No access for ${TOKEN}.` } });
    expect(error.message).toContain("No access for ***.");
    expect(error.message).not.toContain(TOKEN);
  });

  it("is not in an item, even when an issue contains it", async () => {
    const { source, github } = await startScene();
    github.addIssue({ title: `Leaked: ${TOKEN}` });
    expect(await source().fetchAvailableWork()).toMatchObject([{ title: "Leaked: ***" }]);
  });

  it("is not sent to a different origin after a redirect", async () => {
    await using elsewhere = await FakeGitHub.start({ clock: new FakeClock() });
    const { source, clock } = await troubled(1, {
      status: 301,
      headers: { location: `${elsewhere.origin}/x` },
    });
    const error = await rejectionOf(source().fetchAvailableWork());
    expect(error).toMatchObject(UNAVAILABLE);
    expect(error.message).toContain("must not see the token");
    expect(elsewhere.requests).toEqual([]);
    expect(clock.slept).toEqual([]);
  });

  it("is not sent to a next page on a different origin", async () => {
    await using elsewhere = await FakeGitHub.start({ clock: new FakeClock() });
    const link = `<${elsewhere.origin}/x?page=2>; rel="next"`;
    const { source } = await troubled(1, { status: 200, body: [], headers: { link } });
    expect((await rejectionOf(source().fetchAvailableWork())).message).toContain("must not see the token");
    expect(elsewhere.requests).toEqual([]);
  });
});
