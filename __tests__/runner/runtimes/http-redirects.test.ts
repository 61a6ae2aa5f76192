/** A web server that sends a job elsewhere, which is followed only so often and without its secrets. */
import { describe, expect, it } from "vitest";
import { redirected } from "../../../src/runner/runtimes/http-request.js";
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

  it.each<[string, Record<string, unknown>, string, string]>([
    ["the default body", {}, "application/json", '"prompt":"Do it"'],
    ["an object", { body: { a: "{prompt}" } }, "application/json", '{"a":"Do it"}'],
    ["a list", { body: [1, "{prompt}"] }, "application/json", '[1,"Do it"]'],
    ["a text that is JSON", { body: ' {"a": 1}' }, "application/json", ' {"a": 1}'],
    ["a plain text", { body: "again" }, "text/plain;charset=UTF-8", "again"],
    [
      "a form",
      { body: "a=1&b=2", headers: { "content-type": "application/x-www-form-urlencoded", ...headers } },
      "application/x-www-form-urlencoded",
      "a=1&b=2",
    ],
    [
      "JSON of a type of its own",
      { body: { a: 1 }, headers: { "Content-Type": "application/vnd.api+json", ...headers } },
      "application/vnd.api+json",
      '{"a":1}',
    ],
  ])("of status 307 or 308 to a different origin sends %s with its type", async (_, more, type, body) => {
    for (const status of [307, 308])
      for (const method of ["POST", "PUT"]) {
        await using other = await LoopbackServer.listening();
        await using server = await LoopbackServer.listening(redirect(other.url, status));
        const { result } = await ask(server.url, { method, headers, ...more });
        expect(result.status).toBe("completed");
        expect(other.heard).toMatchObject([
          { method, body: expect.stringContaining(body), headers: { "content-type": type } },
        ]);
        expect(other.heard[0]?.body).toBe(server.heard[0]?.body);
        expect(other.heard[0]?.headers).not.toHaveProperty("authorization");
        expect(other.heard[0]?.headers).not.toHaveProperty("x-kind");
      }
  });

  it("to a different origin sends the headers that describe the body, and no other", async () => {
    await using other = await LoopbackServer.listening();
    await using server = await LoopbackServer.listening(redirect(other.url, 307));
    const about = { "Content-Language": "de", "Content-Encoding": "identity" };
    await ask(server.url, {
      headers: { ...headers, ...about, "Content-Token": "abcdefgh" },
      body: "nochmal",
    });
    expect(other.heard).toMatchObject([
      { body: "nochmal", headers: { "content-language": "de", "content-encoding": "identity" } },
    ]);
    expect(other.heard[0]?.headers).not.toHaveProperty("content-token");
  });

  it("to a different origin by GET sends neither the body nor its headers", async () => {
    await using other = await LoopbackServer.listening();
    await using server = await LoopbackServer.listening(redirect(other.url, 303));
    await ask(server.url, { headers: { ...headers, "Content-Language": "de" }, body: "again" });
    expect(other.heard).toMatchObject([{ method: "GET", body: "" }]);
    expect(other.heard[0]?.headers).not.toHaveProperty("content-type");
    expect(other.heard[0]?.headers).not.toHaveProperty("content-language");
  });

  it("within the origin by GET sends the headers, but none that describe the body", async () => {
    await using server = await LoopbackServer.listening((response, request) =>
      request.path === "/" ? redirect("/there", 303)(response, request) : response.end(),
    );
    await ask(server.url, { headers, body: "again" });
    expect(server.heard[1]).toMatchObject({ method: "GET", headers: { authorization: "Bearer abcdefgh" } });
    expect(server.heard[1]?.headers).not.toHaveProperty("content-type");
  });

  it("from https to http is not followed with a body, which anyone could read", () => {
    const request = { method: "POST", url: new URL("https://example.org/"), headers, body: "again" };
    expect(redirected(request, 307, "http://example.org/")).toBe("its redirect leads from https to http");
    expect(redirected(request, 307, "https://example.com/")).toMatchObject({ body: "again" });
    expect(redirected(request, 303, "http://example.org/")).toMatchObject({ method: "GET", headers: {} });
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
