/** Servers that break the rules of HTTP: each job ends, with a record of what happened. */
import { brotliCompressSync, gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { LoopbackServer } from "../loopback-server.js";
import { ask } from "./http-scene.js";
import type { Ended } from "../scene.js";

const JSON_TYPE = "Content-Type: application/json\r\n";

/** A response with a body of the right length. */
function answer(body: string | Buffer, headers = JSON_TYPE, status = "200 OK"): Buffer {
  const head = `HTTP/1.1 ${status}\r\n${headers}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head), Buffer.from(body)]);
}

const raw = (headers: string, body = "{}"): string => `HTTP/1.1 200 OK\r\n${headers}\r\n${body}`;
const SPACES = Buffer.alloc(20_000_000, " ");

describe("an http job whose server breaks the rules", () => {
  it.each<[string, string | Buffer]>([
    ["closes at once", ""],
    ["speaks a different protocol", "SSH-2.0-OpenSSH_9\r\n"],
    ["speaks HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
    ["sends bytes that are no text", Buffer.from([0, 1, 0xff, 0xfe, 0x0d, 0x0a])],
    ["closes within the status", "HTTP/1.1 20"],
    ["closes within the headers", "HTTP/1.1 200 OK\r\nContent-Ty"],
    ["closes within the body", raw(`${JSON_TYPE}Content-Length: 100\r\n`)],
    ["closes within a chunk", raw(`${JSON_TYPE}Transfer-Encoding: chunked\r\n`, '5\r\n{"a"')],
    [
      "sends a chunk without a length",
      raw(`${JSON_TYPE}Transfer-Encoding: chunked\r\n`, "zz\r\n{}\r\n0\r\n\r\n"),
    ],
    ["sends a negative length", raw(`${JSON_TYPE}Content-Length: -5\r\n`)],
    ["sends a length that is no number", raw(`${JSON_TYPE}Content-Length: many\r\n`)],
    ["sends a length that no number holds", raw(`${JSON_TYPE}Content-Length: 99999999999999999999\r\n`)],
    ["sends two lengths", raw(`${JSON_TYPE}Content-Length: 2\r\nContent-Length: 3\r\n`)],
    ["sends a header with a NUL", answer("{}", `${JSON_TYPE}X-A: a\0b\r\n`)],
    ["sends headers without end", `HTTP/1.1 200 OK\r\n${"X-A: b\r\n".repeat(10_000)}`],
    ["names a compression that is not there", answer("no gzip", `${JSON_TYPE}Content-Encoding: gzip\r\n`)],
    ["names ten compressions", answer("{}", `${JSON_TYPE}Content-Encoding: ${"gzip, ".repeat(9)}gzip\r\n`)],
    ["sends the status 600", answer("", "", "600 X")],
    ["sends the status 000", answer("", "", "000 X")],
    ["sends a redirect of 100 kB", answer("", `Location: /${"x".repeat(100_000)}\r\n`, "302 X")],
    ["redirects to a port that is not for HTTP", answer("", "Location: http://127.0.0.1:1/\r\n", "302 X")],
  ])("fails when the server %s", async (_, bytes) => {
    const { result, record } = await asked(bytes);
    expect(record).toMatchObject({ status: "failed", error: expect.stringMatching(/^POST http/) });
    expect(result.responseBody).toBeUndefined();
  });

  it.each<[string, Buffer, unknown]>([
    ["is a bomb of gzip", answer(gzipSync(SPACES), `${JSON_TYPE}Content-Encoding: gzip\r\n`), null],
    ["is a bomb of brotli", answer(brotliCompressSync(SPACES), `${JSON_TYPE}Content-Encoding: br\r\n`), null],
    ["is not UTF-8", answer(Buffer.from([0x22, 0xff, 0xc3, 0x28, 0x22])), "\ufffd\ufffd("],
    ["begins with a byte order mark", answer('\ufeff{"a":1}'), { a: 1 }],
    ["names a prototype", answer('{"__proto__":{"polluted":1}}'), expect.anything()],
    ["is followed by a second response", Buffer.concat([answer('{"a":1}'), answer('{"b":2}')]), { a: 1 }],
    ["has status 204 and a body", answer("hello", JSON_TYPE, "204 X"), null],
  ])("succeeds when the response %s", async (_, bytes, body) => {
    const { record } = await asked(bytes);
    expect(record).toMatchObject({ status: "completed", error: null, response_body: body });
    expect(Object.prototype).not.toHaveProperty("polluted");
  });
});

async function asked(bytes: string | Buffer): Promise<Ended> {
  await using server = await LoopbackServer.listening(({ socket }) => socket?.end(bytes));
  const ended = await ask(server.url);
  // Else it would have failed for a different reason.
  expect(server.heard).toHaveLength(1);
  return ended;
}
