/** What a follower shows of an output that is cut meanwhile. The job log itself makes the cuts. */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { OutputTail } from "../../../src/cli/fleet/output-tail.js";
import { CappedOutput, type OutputBytes } from "../../../src/state/job-log/capped-output.js";

const LIMIT = 200;

/** A file in memory. */
class Bytes implements OutputBytes {
  content: Buffer = Buffer.alloc(0);

  read(bytes: Uint8Array, position: number): Promise<number> {
    const there = this.content.subarray(position, position + bytes.length);
    bytes.set(there);
    return Promise.resolve(there.length);
  }

  write(bytes: Uint8Array, position: number): Promise<number> {
    const grown = Buffer.alloc(Math.max(this.content.length, position + bytes.length));
    this.content.copy(grown);
    grown.set(bytes, position);
    this.content = grown;
    return Promise.resolve(bytes.length);
  }

  truncate(size: number): Promise<void> {
    this.content = Buffer.from(this.content.subarray(0, size));
    return Promise.resolve();
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

/** The bytes that a follower shows when it reads after each write and at the end. */
async function seen(writes: readonly (readonly string[])[]): Promise<string> {
  const bytes = new Bytes();
  const output = new CappedOutput(bytes, LIMIT);
  const tail = new OutputTail();
  let shown = "";
  for (const between of writes) {
    for (const text of between) await output.write(text);
    shown += tail.nextBytes(bytes.content).toString("utf8");
  }
  await output.close();
  return shown + tail.nextBytes(bytes.content).toString("utf8");
}

const LINES = Array.from({ length: 200 }, (_, index) => `line ${index}\n`);

describe("a follower of an output", () => {
  it("gets every byte when it reads often, although the middle is cut repeatedly", async () => {
    expect(await seen(LINES.map((line) => [line]))).toBe(LINES.join(""));
  });

  it("gets the remaining and all later bytes when the output was cut before the first read", async () => {
    const shown = await seen([LINES.slice(0, 100), ...LINES.slice(100).map((line) => [line])]);
    expect(shown).toMatch(/^line 0\n/);
    expect(shown).toContain("bytes of output were cut here");
    expect(shown.endsWith(LINES.slice(100).join(""))).toBe(true);
  });

  it("gets the number of lost bytes when it reads too rarely", async () => {
    const shown = await seen([LINES.slice(0, 10), LINES.slice(10)]);
    const cut = /\n\[(\d+) bytes of output were cut here\]\n/.exec(shown);
    const lost = Number(cut?.[1]);
    expect(shown.length - (cut?.[0].length ?? 0) + lost).toBe(LINES.join("").length);
    expect(LINES.join("").startsWith(shown.slice(0, cut?.index))).toBe(true);
    expect(LINES.join("").endsWith(shown.slice((cut?.index ?? 0) + (cut?.[0].length ?? 0)))).toBe(true);
  });

  it("ignores a line of the job that looks like the mark of a cut", async () => {
    const lines = LINES.map((line) => `${line}\n[5 bytes of output were cut here]\n`);
    expect(await seen(lines.map((line) => [line]))).toBe(lines.join(""));
  });

  it("accounts for every byte as shown or lost, however often it reads", async () => {
    const writes = fc.array(
      fc.array(fc.string({ unit: "grapheme", minLength: 1, maxLength: 60 }), { maxLength: 12 }),
      {
        maxLength: 12,
      },
    );
    await fc.assert(
      fc.asyncProperty(writes, async (texts) => {
        const all = Buffer.from(texts.flat().join(""));
        const shown = await seen(texts);
        const cuts = [...shown.matchAll(/\n\[(\d+) bytes of output were cut here\]\n/g)];
        const told = cuts.reduce(
          (sum, cut) => sum + Number(cut[1]) - cut[0].length,
          Buffer.byteLength(shown),
        );
        expect(told).toBe(all.length);
      }),
    );
  });
});
