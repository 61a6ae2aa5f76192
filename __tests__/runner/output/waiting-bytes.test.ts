/** Bytes wait in their order, and in the same two buffers all the time. */
import { describe, expect, it } from "vitest";
import { WaitingBytes } from "../../../src/runner/output/waiting-bytes.js";

/** Adds a text and takes it, and answers which memory it was in. */
function memoryOf(waiting: WaitingBytes, text: string): ArrayBufferLike {
  waiting.add(text);
  return waiting.take().buffer;
}

describe("bytes that wait", () => {
  it("come in their order, texts among them", () => {
    const waiting = new WaitingBytes();
    for (const chunk of ["one ", Buffer.from("two "), "drüi ", new Uint8Array([52])]) waiting.add(chunk);
    waiting.add(" \u00fc", "latin1");
    expect(waiting.size).toBe(17);
    expect(waiting.take().toString("latin1")).toBe("one two drÃ¼i 4 ü");
    expect(waiting.size).toBe(0);
  });

  it("stay as they are while more are added", () => {
    const waiting = new WaitingBytes();
    waiting.add("first");
    const taken = waiting.take();
    waiting.add("other");
    expect(taken.toString()).toBe("first");
  });

  it("are in two buffers that take turns", () => {
    const waiting = new WaitingBytes();
    const text = "x".repeat(100_000);
    const memories = Array.from({ length: 6 }, () => memoryOf(waiting, text));
    expect(new Set(memories).size).toBe(2);
  });

  it("do not keep the buffer that a burst needed", () => {
    const waiting = new WaitingBytes();
    const burst = memoryOf(waiting, "x".repeat(1_000_000));
    const after = Array.from({ length: 4 }, () => memoryOf(waiting, "x"));
    expect(after).not.toContain(burst);
  });
});
