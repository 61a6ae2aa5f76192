/** What was given as a secret is nowhere in what is kept of a job, whatever became of it. */
import { chmodSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { JobExecutor } from "../../../src/runner/job-executor.js";
import type { SdkQuery } from "../../../src/runner/runtime.js";
import {
  hideIn,
  hideInJson,
  searchedTexts,
  SecretFilter,
  secretsIn,
  secretsInHeaders,
} from "../../../src/runner/output/secrets.js";
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

  it.each([
    "CONTENTFUL_ACCESS_TOKEN",
    "ACCEPT_KEY",
    "accept",
    "USER-AGENT_TOKEN",
    "CACHE-CONTROL",
    "content-type",
  ])("is hidden when the variable is named %s", async (name) => {
    const command = node(`console.log("it is " + process.env[${JSON.stringify(name)}])`);
    const kept = await keptOf({ runtime: { type: "command", command, env: { [name]: CANARY } } });
    expect(kept).toContain("it is [hidden]");
    expectNoCanary(kept);
  });

  const KEY = [
    "-----BEGIN KEY-----",
    "one-7f3a9c-one",
    "  two-7f3a9c-two",
    "end-7f3a9c",
    "=7f",
    "-----END KEY-----",
  ];
  it.each([
    ["whole", KEY.join("\n"), `console.log(process.env.TOKEN)`],
    ["with a line break at its end", `${KEY.join("\n")}\n`, `process.stdout.write(process.env.TOKEN)`],
    [
      "line by line",
      KEY.join("\n"),
      `for (const line of process.env.TOKEN.split("\\n")) console.log("> " + line)`,
    ],
    [
      "in the order of its lines reversed",
      KEY.join("\n"),
      `for (const line of process.env.TOKEN.split("\\n").reverse()) console.error(line); console.log("end-" + "7f3a9c")`,
    ],
    ["with CRLF", KEY.join("\n"), `console.log(process.env.TOKEN.replaceAll("\\n", "\\r\\n"))`],
    ["as one line with \\n", KEY.join("\\n"), `console.log(process.env.TOKEN.replaceAll("\\\\n", "\\n"))`],
    ["as JSON", KEY.join("\n"), `console.log(JSON.stringify(process.env))`],
    ["with a line break at the end of one line", `${CANARY}\n`, `console.log(process.env.TOKEN.trim())`],
    ["on stderr, and fails", KEY.join("\n"), `console.error(process.env.TOKEN); process.exitCode = 3`],
  ])("of several lines is hidden when it is printed %s", async (_, secret, script) => {
    const kept = await keptOf({
      runtime: { type: "command", command: node(script), env: { TOKEN: secret } },
    });
    expect(kept).toContain("[hidden]");
    expectNoCanary(kept);
  });

  it("of several lines does not leave its short last line as the summary", async () => {
    const TOKEN = "first line of it\nZq=";
    const command = node(`console.log("before"); console.log(process.env.TOKEN)`);
    const kept = await keptOf({ runtime: { type: "command", command, env: { TOKEN } } });
    expect(kept).not.toContain("Zq=");
    expect(kept).toContain('"summary":"[hidden]"');
  });

  it("that begins with a shorter one is hidden when it is printed in two chunks", async () => {
    const env = { SHORT: "canary-", LONG: CANARY, MIDDLE: 'canary-"7f' };
    const script = `process.stdout.write(process.env.SHORT);
      setTimeout(() => process.stdout.write(process.env.LONG.slice(7)), 100)`;
    const kept = await keptOf({ runtime: { type: "command", command: node(script), env } });
    expect(kept).toContain("[hidden]");
    expectNoCanary(kept);
  });

  it("is hidden where a summary and a last line are cut", async () => {
    const before = "x".repeat(495);
    const command = node(`console.log("${before}" + process.env.TOKEN + "y".repeat(8192 - 495 - 10))`);
    expectNoCanary(await keptOf({ runtime: { type: "command", command, env: { TOKEN: CANARY } } }));
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

  it.each(["Content-Token", "Accept-Key", "X-User-Agent", "Cache-Control-Token", "User-Agent-Secret"])(
    "is hidden when the header is named %s",
    async (name) => {
      await using server = await LoopbackServer.listening((response, request) =>
        json({ echo: request.headers })(response, request),
      );
      const kept = await keptOf({ runtime: { type: "http", url: server.url, headers: { [name]: CANARY } } });
      expect(kept).toContain("[hidden]");
      expectNoCanary(kept);
    },
  );

  it("is hidden when the response has it as a number", async () => {
    await using server = await LoopbackServer.listening(json({ echo: [73_920_184] }));
    const kept = await keptOf({
      runtime: { type: "http", url: server.url, headers: { "X-Pin": "73920184" } },
    });
    expect(kept).toContain("[hidden]");
    expect(kept).not.toContain("73920184");
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
    [
      "throws it where the error is cut",
      () => {
        throw new Error(`${"x".repeat(3_985)}${CANARY}`);
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
    const searched = searchedTexts(secretsInHeaders({ Authorization: 'Basic abc"déf' }));
    expect(hideIn('abc"déf and abc\\"déf and abc\\"d\\u00e9f', searched)).toBe(
      "[hidden] and [hidden] and [hidden]",
    );
  });

  it("ignores short values, and headers such as Accept", () => {
    expect(secretsIn({ A: "one" })).toEqual([]);
    const headers = { A: "one", "Content-Type": "application/json", accept: "text/plain" };
    expect(secretsInHeaders(headers)).toEqual([]);
  });

  it("finds nothing for an empty secret", () => {
    expect(hideIn("some text", searchedTexts([""]))).toBe("some text");
  });

  it("leaves nothing of secrets that overlap", () => {
    const searched = searchedTexts(["abcdef", "defghi", "ghi-jk", "aaaaaa"]);
    expect(hideIn("<abcdefghi-jk> <defghi> abcdefdefghi aaaaaaaaaa", searched)).toBe(
      "<[hidden]> <[hidden]> [hidden][hidden] [hidden]",
    );
  });

  /** Which characters are part of a secret, one by one. */
  function covered(text: string, secrets: readonly string[]): boolean[] {
    const marks = Array.from(text, () => false);
    for (const secret of secrets)
      for (let at = 0; at + secret.length <= text.length; at++)
        if (text.startsWith(secret, at)) marks.fill(true, at, at + secret.length);
    return marks;
  }
  // Few characters, so that secrets begin with, contain and overlap each other.
  const word = fc.string({ unit: fc.constantFrom("a", "b", "é"), minLength: 6, maxLength: 12 });
  const scene = fc.array(word, { minLength: 1, maxLength: 4 }).chain((secrets) =>
    fc.tuple(
      fc.constant(secrets),
      fc
        .array(fc.oneof(fc.constantFrom(...secrets), word, fc.constantFrom("-", "a", "b\n")), {
          maxLength: 8,
        })
        .map((parts) => parts.join("")),
    ),
  );

  it("shows exactly the characters that are in no secret", () => {
    fc.assert(
      fc.property(scene, ([secrets, text]) => {
        const marks = covered(text, secrets);
        const open = Array.from(text)
          .filter((_, at) => marks[at] === false)
          .join("");
        expect(hideIn(text, searchedTexts(secrets)).replaceAll("[hidden]", "")).toBe(open);
      }),
      { numRuns: 2_000 },
    );
  });

  it("gives the same for every place where an output is cut into chunks", () => {
    fc.assert(
      fc.property(scene, fc.array(fc.nat(20), { maxLength: 6 }), ([secrets, text], lengths) => {
        const bytes = Buffer.from(text);
        const whole = hideIn(text, searchedTexts(secrets));
        const shown = (...ends: number[]): string => {
          const filter = new SecretFilter(secrets);
          let from = 0;
          let all = "";
          for (const end of [...ends, bytes.length]) {
            all += filter.add(bytes.subarray(from, end));
            from = end;
          }
          return Buffer.from(all + filter.end(), "latin1").toString();
        };
        for (let end = 0; end <= bytes.length; end++) expect(shown(end)).toBe(whole);
        expect(shown(...Array.from(bytes.keys()))).toBe(whole);
        let at = 0;
        expect(shown(...lengths.map((length) => (at = Math.min(bytes.length, at + length))))).toBe(whole);
      }),
      { numRuns: 300 },
    );
  });

  it("holds back no more than the longest secret, however long it repeats", () => {
    const filter = new SecretFilter(["aaaaaa"]);
    let shown = "";
    for (let piece = 0; piece < 1_000; piece++) shown += filter.add(Buffer.from("aaaaaaaaaa"));
    expect(shown).toBe("[hidden]");
    expect(filter.add(Buffer.from("bbb")) + filter.end()).toBe("bbb");
  });

  it("reaches all texts and keys of a JSON value", () => {
    expect(hideInJson({ a: ["secret"], secret: { b: "a secret", c: 7, d: null } }, ["secret"])).toEqual({
      a: ["[hidden]"],
      "[hidden]": { b: "a [hidden]", c: 7, d: null },
    });
  });
});
