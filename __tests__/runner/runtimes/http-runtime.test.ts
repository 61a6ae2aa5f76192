/** Jobs that ask a web server, on a real one that answers well, badly, too much or not at all. */
import { describe, expect, it } from "vitest";
import { ask } from "./http-scene.js";
import { json, LoopbackServer } from "../loopback-server.js";
import { type Ended, Scene } from "../scene.js";

const SLOT = "2026-03-01T03:00:00.000Z";

describe("an http job", () => {
  it("posts its prompt, id, agent, schedule, slot, key, attempt and work item as JSON", async () => {
    await using server = await LoopbackServer.listening();
    const workItem = { id: "7", title: "Fix it" };
    const { result } = await ask(
      `${server.url}/hook`,
      {},
      { prompt: 'Say "hi"\n', schedule: "hourly", slot: SLOT, attempt: 2, workItem },
    );
    expect(server.heard).toMatchObject([
      { method: "POST", path: "/hook", headers: { "content-type": "application/json" } },
    ]);
    expect(JSON.parse(server.heard[0]?.body ?? "")).toEqual({
      prompt: 'Say "hi"\n',
      job_id: result.jobId,
      agent: "worker",
      schedule: "hourly",
      slot: SLOT,
      key: `worker/hourly@${SLOT}`,
      attempt: 2,
      work_item: workItem,
    });
  });

  it("posts null as its slot and key where it has none", async () => {
    await using server = await LoopbackServer.listening();
    await ask(server.url);
    expect(JSON.parse(server.heard[0]?.body ?? "")).toMatchObject({ slot: null, key: null });
  });

  it("fills in its slot and key in body, headers and address", async () => {
    await using server = await LoopbackServer.listening();
    const headers = { "Idempotency-Key": "{key}", "X-Slot": "at {slot}", "X-Plain": "{prompt} {other}" };
    const body = { at: "{slot}", once: "{key}" };
    const options = { schedule: "hourly", slot: SLOT };
    await ask(`${server.url}/runs/{slot}?once={key}&x={prompt}`, { headers, body }, options);
    const key = `worker/hourly@${SLOT}`;
    expect(server.heard).toMatchObject([
      {
        path: `/runs/${encodeURIComponent(SLOT)}?once=${encodeURIComponent(key)}&x={prompt}`,
        headers: { "idempotency-key": key, "x-slot": `at ${SLOT}`, "x-plain": "{prompt} {other}" },
      },
    ]);
    expect(JSON.parse(server.heard[0]?.body ?? "")).toEqual({ at: SLOT, once: key });
  });

  it("fills in its key in the headers of a GET, in ASCII", async () => {
    await using server = await LoopbackServer.listening();
    const headers = { "Idempotency-Key": "{key}" };
    const options = { schedule: "stündlich\n∞", slot: SLOT };
    await ask(server.url, { method: "GET", headers }, options);
    expect(server.heard).toMatchObject([
      { headers: { "idempotency-key": `worker/st%C3%BCndlich%0A%E2%88%9E@${SLOT}` } },
    ]);
  });

  it("has the status as its exit code, and the JSON of the response", async () => {
    await using server = await LoopbackServer.listening(json({ done: [1, 2] }, 201));
    const { result, record, output } = await ask(server.url);
    expect(result).toMatchObject({
      success: true,
      status: "completed",
      exitCode: 201,
      responseBody: { done: [1, 2] },
    });
    expect(record).toMatchObject({ exit_code: 201, response_body: { done: [1, 2] } });
    expect(output).toBe(`POST ${server.url} returned 201\n`);
  });

  it("sends the configured method and headers", async () => {
    await using server = await LoopbackServer.listening();
    await ask(server.url, { method: "put", headers: { "X-Kind": "test" }, body: "plain" });
    expect(server.heard).toMatchObject([
      {
        method: "PUT",
        body: "plain",
        headers: { "x-kind": "test", "content-type": "text/plain;charset=UTF-8" },
      },
    ]);
  });

  it("sends no body with GET", async () => {
    await using server = await LoopbackServer.listening();
    await ask(server.url, { method: "GET", body: "{prompt}" });
    expect(server.heard).toMatchObject([{ method: "GET", body: "" }]);
  });

  it.each([
    ["unchanged in a text body", "Do: {prompt}", 'Do: say "{job_id}"\n'],
    ["escaped in a text body that is JSON", '{"text": "{prompt}"}', '{"text": "say \\"{job_id}\\"\\n"}'],
    ["in a JSON body", { list: ["{prompt}", 7] }, '{"list":["say \\"{job_id}\\"\\n",7]}'],
    ["only where its name stands", "{nothing} {} {work_item.none}.", "{nothing} {} ."],
  ])("fills in the prompt %s", async (_, body, sent) => {
    await using server = await LoopbackServer.listening();
    await ask(server.url, { body }, { prompt: 'say "{job_id}"\n' });
    expect(server.heard[0]?.body).toBe(sent);
  });

  it("fills in fields of the work item", async () => {
    await using server = await LoopbackServer.listening();
    const workItem = { title: "Fix it", metadata: { labels: ["a"] } };
    await ask(
      server.url,
      { body: "{work_item.title} {work_item.metadata.labels} {agent} {schedule}" },
      { workItem },
    );
    expect(server.heard[0]?.body).toBe('Fix it ["a"] worker ');
  });
});

describe("the response to an http job", () => {
  it.each([400, 404, 500, 503])("of status %d fails the job", async (status) => {
    await using server = await LoopbackServer.listening(json({ why: "no" }, status));
    const { result, record } = await ask(server.url);
    const error = `POST ${server.url} returned ${status}.`;
    expect(result).toMatchObject({
      success: false,
      status: "failed",
      exitCode: status,
      error,
      responseBody: { why: "no" },
    });
    expect(record).toMatchObject({ status: "failed", exit_code: status, error });
  });

  it("of 99 kB is kept", async () => {
    const body = "x".repeat(99 * 1024 - 2);
    await using server = await LoopbackServer.listening(json(body));
    expect((await ask(server.url)).record?.response_body).toBe(body);
  });

  it("of 101 kB is not kept, and the job succeeds", async () => {
    await using server = await LoopbackServer.listening(json("x".repeat(101 * 1024 - 2)));
    const { result, record } = await ask(server.url);
    expect(result).toMatchObject({ success: true, exitCode: 200 });
    expect(record?.response_body).toBeNull();
  });

  it("that never ends is read only up to the limit", async () => {
    await using server = await LoopbackServer.listening((response) => {
      response.writeHead(200, { "content-type": "application/json" });
      const more = (): void => {
        while (!response.destroyed)
          if (!response.write(" ".repeat(10_000))) return void response.once("drain", more);
      };
      more();
    });
    expect((await ask(server.url)).result).toMatchObject({ success: true, exitCode: 200 });
  });

  it("whose content-length is beyond the limit is not read", async () => {
    await using server = await LoopbackServer.listening((response) =>
      response
        .writeHead(200, { "content-type": "application/json", "content-length": 10_000_000 })
        .write("["),
    );
    expect((await ask(server.url)).result).toMatchObject({ success: true, exitCode: 200 });
  });

  it.each([
    ["is not JSON", "text/plain", "hello"],
    ["has the content type of JSON and is not JSON", "application/json", "{hello"],
  ])("that %s is not kept, and the job succeeds", async (_, type, body) => {
    await using server = await LoopbackServer.listening((response) =>
      response.writeHead(200, { "content-type": type }).end(body),
    );
    const { result } = await ask(server.url);
    expect(result).toMatchObject({ success: true });
    expect(result.responseBody).toBeUndefined();
  });

  it("that breaks off fails the job", async () => {
    await using server = await LoopbackServer.listening((response) => {
      response.writeHead(200, { "content-type": "application/json" }).write("[");
      response.destroy();
    });
    expect((await ask(server.url)).result).toMatchObject({
      status: "failed",
      error: expect.stringContaining("failed:"),
    });
  });

  it("that never comes because nothing listens fails the job", async () => {
    const server = await LoopbackServer.listening();
    const { url } = server;
    await server[Symbol.asyncDispose]();
    expect((await ask(url)).result).toMatchObject({
      status: "failed",
      error: expect.stringMatching(/^POST http:\/\/127.0.0.1:\d+ failed: .*ECONNREFUSED/),
    });
  });
});

describe("an http job whose server does not respond", () => {
  const silent = (): void => {};

  /** Lets time pass when the server has heard the request. */
  async function askSilent(
    server: LoopbackServer,
    agent: Record<string, unknown>,
    act: (scene: Scene) => Promise<void>,
    signal?: AbortSignal,
  ): Promise<Ended> {
    const scene = new Scene();
    const running = scene.executor.execute({ agent: { name: "worker", ...agent }, prompt: "", signal });
    while (server.heard.length === 0) await scene.clock.advance(0);
    await act(scene);
    return scene.ended(await running);
  }

  it("times out after the timeout of the runtime", async () => {
    await using server = await LoopbackServer.listening(silent);
    const runtime = { type: "http", url: server.url, timeout: "30s" };
    const { result } = await askSilent(server, { runtime }, (scene) => scene.clock.advance("30s"));
    expect(result).toMatchObject({
      success: false,
      status: "timeout",
      error: `POST ${server.url} had no response in 30000 ms.`,
      durationMs: 30_000,
    });
  });

  it("times out after the timeout of the agent", async () => {
    await using server = await LoopbackServer.listening(silent);
    const runtime = { type: "http", url: server.url };
    const { result } = await askSilent(server, { runtime, timeout: "10s" }, (scene) =>
      scene.clock.advance("10s"),
    );
    expect(result).toMatchObject({
      status: "timeout",
      error: "Timed out after 10000 ms",
      durationMs: 10_000,
    });
  });

  it("ends when the job is cancelled", async () => {
    await using server = await LoopbackServer.listening(silent);
    const controller = new AbortController();
    const runtime = { type: "http", url: server.url };
    const { result } = await askSilent(
      server,
      { runtime },
      async () => controller.abort(new Error("not needed")),
      controller.signal,
    );
    expect(result).toMatchObject({ status: "cancelled" });
  });
});

describe("the configuration of an http job", () => {
  it.each([
    [{}, "missing or wrong"],
    [{ url: "ftp://localhost/" }, "missing or wrong"],
    [{ url: "http://name:password@localhost/" }, "holds a name or password"],
    [{ url: "http://localhost/", method: "TRACE" }, 'is "TRACE"'],
    [{ url: "http://localhost/", headers: { "a b": "c" } }, 'The header "a b"'],
    [{ url: "http://localhost/", headers: { a: "b\nc" } }, 'The header "a"'],
    [{ url: "http://localhost/", body: 7 }, "expected text or a JSON value"],
    [{ url: "http://localhost/", timeout: "soon" }, 'is "soon", expected milliseconds'],
    [{ url: "http://localhost/", max_redirects: -1 }, "expected a whole number from 0"],
    [{ url: "http://localhost/", retries: 3 }, 'has no "retries"'],
  ])("%j fails the job, and the error says why", async (runtime, error) => {
    const { result } = await new Scene().run({ runtime: { type: "http", ...runtime } });
    expect(result).toMatchObject({ status: "failed", error: expect.stringContaining(error) });
  });
});
