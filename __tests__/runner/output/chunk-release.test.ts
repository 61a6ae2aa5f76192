/** What has been copied is freed at once, and nothing else is. */
import { describe, expect, it } from "vitest";
import { ChunkRelease } from "../../../src/runner/output/chunk-release.js";

describe("a chunk of a stream", () => {
  it("has no bytes any more when it is freed", () => {
    const release = new ChunkRelease();
    const chunks = [1, 2].map((byte) => Buffer.from(new ArrayBuffer(65_536)).fill(byte));
    for (const chunk of chunks) release.free(chunk);
    expect(chunks.map(({ length }) => length)).toEqual([0, 0]);
  });

  it.each([
    ["is part of a buffer", Buffer.from(new ArrayBuffer(65_536), 0, 65_535)],
    ["is short", Buffer.from(new ArrayBuffer(1_000))],
    ["is shared with others", Buffer.from(new SharedArrayBuffer(65_536))],
  ])("that %s is left alone", (_, chunk) => {
    const { length } = chunk;
    new ChunkRelease().free(chunk);
    expect(chunk).toHaveLength(length);
  });
});
