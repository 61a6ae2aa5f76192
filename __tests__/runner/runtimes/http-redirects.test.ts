/** A web server that sends a job elsewhere, which is followed only so often and without its secrets. */
import { describe, expect, it } from "vitest";
import { ask } from "./http-scene.js";
import { json, LoopbackServer, redirect } from "../loopback-server.js";

describe("a redirect of an http job", () => {
  const headers = { Authorization: "Bearer abcdefgh", "X-Kind": "test" };

  it("within the origin is followed with the configured headers", async () => {
    await using server = await LoopbackServer.listening((response, request) =>
      request.path === "/" ? redirect("/there", 307)(response, request) : json("arrived")(response, request),
    );
    const { result } = await ask(server.url, { headers, body: "again" });
    expect(result).toMatchObject({ success: true, responseBody: "arrived" });
    expect(server.heard[1]).toMatchObject({
      method: "POST",
      path: "/there",
      body: "again",
      headers: { authorization: "Bearer abcdefgh" },
    });
  });

  it("to a different origin drops the configured headers, even when a later redirect leads back", async () => {
    let back = "";
    await using other = await LoopbackServer.listening((response, request) =>
      redirect(back, 307)(response, request),
    );
    await using server = await LoopbackServer.listening((response, request) =>
      request.path === "/" ? redirect(other.url, 307)(response, request) : response.end(),
    );
    back = `${server.url}/back`;
    await ask(server.url, { headers, body: "again" });
    expect(other.heard).toMatchObject([{ method: "POST", body: "again" }]);
    expect(server.heard).toHaveLength(2);
    for (const { headers: sent } of [other.heard[0], server.heard[1]].filter(
      (heard) => heard !== undefined,
    )) {
      expect(sent).not.toHaveProperty("authorization");
      expect(sent).not.toHaveProperty("x-kind");
    }
  });

  it.each([
    [302, "GET", ""],
    [303, "GET", ""],
    [308, "POST", "again"],
  ])("of status %d is followed with %s", async (status, method, body) => {
    await using server = await LoopbackServer.listening((response, request) =>
      request.path === "/" ? redirect("/there", status)(response, request) : response.end(),
    );
    await ask(server.url, { body: "again" });
    expect(server.heard[1]).toMatchObject({ method, body });
  });

  it.each([
    [undefined, 3],
    [0, 0],
    [1, 1],
  ])("is not followed beyond max_redirects %s", async (max_redirects, followed) => {
    await using server = await LoopbackServer.listening(redirect("/again"));
    const { result } = await ask(server.url, max_redirects === undefined ? {} : { max_redirects });
    expect(result).toMatchObject({
      status: "failed",
      exitCode: 302,
      error: expect.stringContaining(`more than ${followed} redirects are not followed`),
    });
    expect(server.heard).toHaveLength(followed + 1);
  });

  it.each([
    ["file:///etc/passwd", "leads away from HTTP"],
    ["http://[", "leads nowhere"],
  ])("to %s fails the job", async (location, error) => {
    await using server = await LoopbackServer.listening(redirect(location));
    expect((await ask(server.url)).result).toMatchObject({
      status: "failed",
      error: expect.stringContaining(error),
    });
  });
});
