/** freeChunk frees a chunk at once, unless others may share its buffer. */
import { describe, expect, it } from "vitest";
import { freeChunk } from "../../../src/runner/output/free-chunk.js";

describe("freeChunk", () => {
  it("leaves a chunk without bytes", () => {
    const chunks = [1, 2].map((byte) => Buffer.from(new ArrayBuffer(65_536)).fill(byte));
    for (const chunk of chunks) freeChunk(chunk);
    expect(chunks.map(({ length }) => length)).toEqual([0, 0]);
  });

  it.each([
    ["that is part of a buffer", Buffer.from(new ArrayBuffer(65_536), 0, 65_535)],
    ["that is short", Buffer.from(new ArrayBuffer(1_000))],
    ["whose memory is shared", Buffer.from(new SharedArrayBuffer(65_536))],
  ])("keeps a chunk %s", (_, chunk) => {
    const { length } = chunk;
    freeChunk(chunk);
    expect(chunk).toHaveLength(length);
  });
});
