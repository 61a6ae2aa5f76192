/** The parts of an HTTP exchange that the http runtime and the GitHub source do not test. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { systemClock } from "../src/clock.js";
import { exchange, failureReason, type HttpRequest, readText } from "../src/http-exchange.js";

const request: HttpRequest = {
  method: "GET",
  url: new URL("data:text/plain,first"),
  headers: {},
  body: undefined,
};

describe("an HTTP exchange", () => {
  it("returns the result of the first response that is not followed by a request", async () => {
    const texts: unknown[] = [];
    const result = await exchange(request, {
      clock: systemClock,
      receive: async (response, sent, redirects) => {
        texts.push([await readText(response, 100), redirects]);
        const next = { ...sent, url: new URL("data:text/plain,second") };
        return redirects === 0 ? { next } : { result: "done" };
      },
    });
    expect(result).toBe("done");
    expect(texts).toEqual([
      ["first", 0],
      ["second", 1],
    ]);
  });

  it("rejects with the signal's reason when the signal has fired already", async () => {
    const reason = new Error("stopped");
    const receive = async (): Promise<{ result: string }> => ({ result: "" });
    const signal = AbortSignal.abort(reason);
    await expect(exchange(request, { clock: systemClock, signal, receive })).rejects.toBe(reason);
  });

  it("rejects with the signal's reason when the signal fires while a response is received", async () => {
    // Not a "data:" URL: Node 24 throws in its own code when the fetch of one is aborted.
    const server = createServer((_, response) => response.end("first")).listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    onTestFinished(() => void server.close());
    const stop = new AbortController();
    const reason = new Error("stopped");
    const receive = async (): Promise<{ result: string }> => {
      stop.abort(reason);
      throw new Error("terminated");
    };
    const local = { ...request, url: new URL(`http://127.0.0.1:${port}/`) };
    const exchanging = exchange(local, { clock: systemClock, signal: stop.signal, receive });
    await expect(exchanging).rejects.toBe(reason);
  });
});

describe("the text of a response", () => {
  it.each([
    ["ünï", 5, "ünï"],
    ["ünï", 4, undefined],
    ["", 0, ""],
  ])("%j with a limit of %i bytes is %j", async (body, maxBytes, text) => {
    expect(await readText(new Response(body), maxBytes)).toBe(text);
  });

  it("is empty for a response without a body", async () => {
    expect(await readText(new Response(null, { status: 204 }), 0)).toBe("");
  });
});

describe("the reason of a failed fetch", () => {
  it.each([
    ["the message of its cause", "other side closed", "UND_ERR_SOCKET", "other side closed UND_ERR_SOCKET"],
    ["the code of a cause without a message", "", "ECONNREFUSED", "ECONNREFUSED"],
    ["a code once", "connect ECONNREFUSED ::1:1", "ECONNREFUSED", "connect ECONNREFUSED ::1:1"],
  ])("has %s", (_, message, code, reason) => {
    const cause = Object.assign(new Error(message), { code });
    expect(failureReason(new TypeError("fetch failed", { cause }))).toBe(reason);
  });

  it("is the error's own message without a cause", () => {
    expect(failureReason(new Error("stopped"))).toBe("stopped");
  });
});
