/** The errors when GitHub rejects a request or sends an invalid response. */
import { describe, expect, it } from "vitest";
import { REPO } from "./fake-github.js";
import {
  idOf,
  numbersOf,
  rejectionOf,
  startScene,
  troubled,
  UNAVAILABLE,
  FORBIDDEN,
  TOKEN_ENV,
  WON,
} from "./scene.js";
import { type FakeAnswer, isMethod, troubleFor } from "./trouble.js";

/** The error of a fetch with the response. */
async function errorOf(answer: FakeAnswer): Promise<Error> {
  const { source } = await troubled(1, answer);
  return await rejectionOf(source().fetchAvailableWork());
}

describe("a rejection by GitHub", () => {
  it("of the token is an error that names its variable", async () => {
    const error = await errorOf({ status: 401, body: { message: "Bad credentials" } });
    expect(error).toMatchObject(FORBIDDEN);
    expect(error.message).toBe(
      `GitHub rejected the token in ${TOKEN_ENV} (status 401: Bad credentials): it is wrong, expired or revoked. Set ${TOKEN_ENV} to a valid token.`,
    );
  });

  it("for a missing permission is an error that names the permission", async () => {
    const error = await errorOf({
      status: 403,
      body: { message: "Resource not accessible by personal access token" },
    });
    expect(error).toMatchObject(FORBIDDEN);
    expect(error.message).toContain("needs read and write access to its issues");
  });

  it("of an unknown repository is an error that names it and the likely cause", async () => {
    const error = await errorOf({ status: 404, body: { message: "Not Found" } });
    expect(error).toMatchObject(FORBIDDEN);
    expect(error.message).toContain(`did not find ${REPO}`);
    expect(error.message).toContain(`the token in ${TOKEN_ENV} has access`);
  });

  it("of an invalid request is an error that names what is invalid", async () => {
    const errors = [{ resource: "Label", field: "name", code: "invalid" }, { message: "too long" }, "odd"];
    const error = await errorOf({ status: 422, body: { message: "Validation Failed", errors } });
    expect(error).toMatchObject({ code: "INVALID_WORK_SOURCE" });
    expect(error.message).toContain("(status 422: Validation Failed; name invalid; too long; odd)");
  });

  it("of any other kind is an error with GitHub's reason", async () => {
    const error = await errorOf({ status: 418 });
    expect(error).toMatchObject(UNAVAILABLE);
    expect(error.message).toContain("status 418");
  });

  it("is not retried", async () => {
    const { source, github } = await troubled(Infinity, { status: 403, body: { message: "No" } });
    await rejectionOf(source().fetchAvailableWork());
    expect(github.requests).toHaveLength(1);
  });

  it("is reported in one short line", async () => {
    const error = await errorOf({ status: 418, body: { message: `a\n\u001b[31m${"b".repeat(1_000)}` } });
    expect(error.message).toMatch(/^[\u0020-\u007e…]{100,400}$/);
  });
});

describe("a redirect within the same origin", () => {
  const location = `/repos/${REPO}/issues?state=open&labels=ready`;

  it("is followed by a read", async () => {
    const { source } = await troubled(1, { status: 301, headers: { location } });
    expect(numbersOf(await source().fetchAvailableWork())).toEqual([1]);
  });

  it("is not followed for ever", async () => {
    const { source, github } = await troubled(Infinity, { status: 302, headers: { location } });
    expect((await rejectionOf(source().fetchAvailableWork())).message).toContain("more than 3 redirects");
    expect(github.requests).toHaveLength(4);
  });

  it.each([
    [301, UNAVAILABLE],
    [307, undefined],
  ])("with status %s is followed by a write only if it keeps the method", async (status, error) => {
    const scene = await startScene();
    scene.github.addIssue();
    const answer = { status, headers: { location: `/repos/${REPO}/issues/1/labels` } };
    scene.github.trouble = troubleFor(1, isMethod("POST", "/labels"), answer);
    const claim: unknown = await scene
      .source()
      .claimWork(idOf(scene, 1))
      .catch((thrown: unknown) => thrown);
    expect(claim).toMatchObject(error ?? WON);
  });
});

describe("an invalid response of GitHub", () => {
  it.each<[string, unknown]>([
    ["is not JSON", "<html>Please log in</html>"],
    ["is empty", ""],
    ["is not a list", { message: "hello" }],
  ])("that %s is an error that mentions base_url", async (_, body) => {
    const error = await errorOf({ status: 200, body });
    expect(error).toMatchObject(UNAVAILABLE);
    expect(error.message).toContain("base_url");
  });

  it("that is too large is not read to its end", async () => {
    const error = await errorOf({ status: 200, body: `["${"x".repeat(33 * 2 ** 20)}"]` });
    expect(error).toMatchObject(UNAVAILABLE);
    expect(error.message).toContain("larger than 32 MiB");
  });

  it.each<[string, unknown]>([
    ["null", null],
    ["a number", 7],
    ["an issue without a title", { number: 1, state: "open" }],
    [
      "an issue with an invalid time",
      { number: 1, title: "x", state: "open", labels: [], created_at: "yesterday" },
    ],
  ])("whose issue is %s is an error", async (_, body) => {
    const scene = await startScene();
    scene.github.trouble = troubleFor(1, () => true, { status: 200, body: JSON.stringify(body) });
    expect(await rejectionOf(scene.source().getWork(idOf(scene, 1)))).toMatchObject(UNAVAILABLE);
  });

  it("that always has a next page is not read for ever", async () => {
    const scene = await startScene();
    const link = `<${scene.github.origin}/repos/${REPO}/issues?page=2>; rel="next"`;
    scene.github.trouble = () => ({ status: 200, body: [], headers: { link } });
    expect(await scene.source().fetchAvailableWork()).toEqual([]);
  });
});

describe("GitHub Enterprise", () => {
  it("has its API below a path", async () => {
    const { source, github } = await startScene({ basePath: "/api/v3" });
    for (let count = 0; count < 120; count++) github.addIssue();
    expect(await source({ base_url: `${github.baseUrl}/` }).fetchAvailableWork({ limit: 200 })).toHaveLength(
      120,
    );
  });
});
