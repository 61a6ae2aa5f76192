/** What was given as a secret is nowhere in what is kept of a job, whatever became of it. */
import { chmodSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { JobExecutor } from "../../../src/runner/job-executor.js";
import type { SdkQuery } from "../../../src/runner/runtime.js";
import { hideIn, hideInJson, SecretFilter, secretsIn } from "../../../src/runner/output/secrets.js";
import { stateDirectory } from "../../state/temporary-directory.js";
import { type Answer, json, LoopbackServer, redirect } from "../loopback-server.js";
import { loggerInto } from "../scene.js";

const CANARY = 'canary-"7f3a9c"-bird';
const PASSED = "ROTA_TEST_CANARY";

/** Everything that is kept of a job: its result, all files of its state, all that was logged. */
async function keptOf(agent: { runtime?: unknown; timeout?: unknown }, sdkQuery?: SdkQuery): Promise<string> {
  const stateDir = stateDirectory();
  const lines: string[] = [];
  const executor = new JobExecutor({ stateDir, logger: loggerInto(lines), graceMs: 50, sdkQuery });
  const result = await executor.execute({ agent: { name: "worker", ...agent }, prompt: "Do it" });
  const files = readdirSync(stateDir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), "utf8"));
  return [JSON.stringify(result), ...lines, ...files].join("\n");
}

function expectNoCanary(kept: string): void {
  expect(kept).toContain("worker");
  expect(kept).not.toContain("7f3a9c");
}

describe("a secret in the environment of a command job", () => {
  const node = (script: string): string[] => [process.execPath, "-e", script];
  const say = `console.log(process.env.TOKEN); console.error(process.env.TOKEN); console.log(JSON.stringify(process.env));
    process.stdout.write("so it ends with " + (process.env.${PASSED} ?? process.env.TOKEN)); `;

  it.each<[string, Record<string, unknown>]>([
    ["the command succeeds", { command: node(say) }],
    ["the command fails", { command: node(`${say} process.exitCode = 3`) }],
    [
      "a signal ends the command",
      { command: node(`${say} setTimeout(() => process.kill(process.pid, "SIGKILL"), 20)`) },
    ],
    ["the command times out", { command: node(`${say} setInterval(() => {}, 1000)`) }],
    ["the command is not found", { command: ["no-such-command-here"] }],
    ["the cwd is missing", { command: node(say), cwd: "/no/such/directory" }],
    ["an argument is too long", { command: [...node(say), "x".repeat(10_000_000)] }],
    ["a value contains a NUL", { command: node(say), env: { TOKEN: `${CANARY}\0` } }],
    ["a value is not text", { command: node(say), env: { TOKEN: [CANARY] } }],
    ["env is a text", { command: node(say), env: `TOKEN=${CANARY}` }],
  ])("is hidden in output and record when %s", async (_, runtime) => {
    const kept = await keptOf({
      runtime: { type: "command", env: { TOKEN: CANARY }, ...runtime },
      timeout: 2_000,
    });
    expectNoCanary(kept);
  });

  it("is not hidden when only its beginning was printed", async () => {
    const command = node(`process.stdout.write("the end: canary-")`);
    const kept = await keptOf({ runtime: { type: "command", command, env: { TOKEN: CANARY } } });
    expect(kept.match(/the end: canary-/g)).toHaveLength(3); // the result, the record, the output
  });

  it("is hidden when the command may not be executed", async () => {
    const program = join(stateDirectory(), "program");
    writeFileSync(program, "");
    chmodSync(program, 0o600);
    expectNoCanary(
      await keptOf({ runtime: { type: "command", command: [program], env: { TOKEN: CANARY } } }),
    );
  });

  it("is hidden when pass_env passed it on", async () => {
    process.env[PASSED] = CANARY;
    const kept = await keptOf({ runtime: { type: "command", command: node(say), pass_env: [PASSED] } });
    delete process.env[PASSED];
    expect(kept).toContain("so it ends with [hidden]");
    expectNoCanary(kept);
  });
});

describe("a secret in the headers of an http job", () => {
  const headers = { Authorization: `Bearer ${CANARY}`, "X-Api-Key": CANARY };
  const echo =
    (status: number): Answer =>
    (response, request) =>
      json({ echo: request.headers, key: [request.headers["x-api-key"]], [CANARY]: 1 }, status)(
        response,
        request,
      );

  it.each<[string, Answer, Record<string, unknown>]>([
    ["echoes it", echo(200), {}],
    ["echoes it and fails", echo(500), {}],
    [
      "redirects to an address with it",
      redirect(`http://127.0.0.1:1/${encodeURIComponent(CANARY)}?${CANARY}`),
      {},
    ],
    ["redirects to a scheme with it", redirect(`${CANARY}://x`), {}],
    ["does not respond", () => {}, { timeout: 100 }],
    ["breaks off", (response) => response.destroy(), {}],
    ["gets a header with a line break", echo(200), { headers: { Authorization: `${CANARY}\n` } }],
    ["gets a header that is not text", echo(200), { headers: { Authorization: [CANARY] } }],
  ])("is hidden in output and record when the server %s", async (_, answer, more) => {
    await using server = await LoopbackServer.listening(answer);
    expectNoCanary(await keptOf({ runtime: { type: "http", url: server.url, headers, ...more } }));
  });

  it.each([`http://name:${CANARY}@127.0.0.1:1/`, `http://127.0.0.1:1/${CANARY}?token=${CANARY}`])(
    "is hidden when it is in the address %s",
    async (url) => {
      expectNoCanary(await keptOf({ runtime: { type: "http", url } }));
    },
  );
});

describe("a secret in the options of a messages job", () => {
  const runtime = { type: "messages", options: { env: { TOKEN: CANARY }, headers: { "x-api-key": CANARY } } };

  it.each<[string, SdkQuery]>([
    [
      "says it",
      async function* () {
        yield { type: "assistant", content: `I was given ${CANARY}` };
      },
    ],
    [
      "fails with it",
      async function* () {
        yield { type: "result", is_error: true, result: `Not allowed: ${CANARY}` };
      },
    ],
    [
      "throws it",
      () => {
        throw new Error(`Not allowed: ${CANARY}`);
      },
    ],
    ["rejects with it", () => Promise.reject(`Not allowed: ${CANARY}`)],
  ])("is hidden in output and record when the SDK %s", async (_, sdkQuery) => {
    expectNoCanary(await keptOf({ runtime }, sdkQuery));
  });
});

describe("hiding secrets", () => {
  it.each([1, 2, 3, 5, 7, 11])("finds a secret in pieces of %d bytes", (length) => {
    const filter = new SecretFilter(["sésame-open", "another-one"]);
    const bytes = Buffer.from(
      "sés sésame-ope sésame-open, another-on another-one sésame-openanother-one sésame",
    );
    let shown = "";
    for (let at = 0; at < bytes.length; at += length) shown += filter.add(bytes.subarray(at, at + length));
    expect(Buffer.from(shown + filter.end(), "latin1").toString()).toBe(
      "sés sésame-ope [hidden], another-on [hidden] [hidden][hidden] sésame",
    );
  });

  it("finds the credential after a header's scheme, and a secret escaped in JSON", () => {
    const secrets = secretsIn({ Authorization: 'Basic abc"def' });
    expect(hideIn('abc"def and abc\\"def', secrets)).toBe("[hidden] and [hidden]");
  });

  it("ignores short values and headers such as Accept", () => {
    const values = { A: "one", "Content-Type": "application/json", Accept: "text/plain" };
    expect(secretsIn(values)).toEqual([]);
  });

  it("reaches all texts and keys of a JSON value", () => {
    expect(hideInJson({ a: ["secret"], secret: { b: "a secret", c: 7, d: null } }, ["secret"])).toEqual({
      a: ["[hidden]"],
      "[hidden]": { b: "a [hidden]", c: 7, d: null },
    });
  });
});
