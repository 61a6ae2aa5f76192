/** The last line is found however the bytes come. */
import { describe, expect, it } from "vitest";
import { LastLine } from "../../../src/runner/output/last-line.js";

describe("the last line of a stream", () => {
  const text = `${"x".repeat(20_000)}\n${"early line\n".repeat(1_000)}the last lüne\n\n`;

  it.each([1, 2, 7, 1_000, 8_191, 8_192, 8_193, 100_000])("is found in pieces of %d bytes", (length) => {
    const bytes = Buffer.from(text);
    const last = new LastLine();
    for (let at = 0; at < bytes.length; at += length) last.add(bytes.subarray(at, at + length));
    expect(last.text).toBe("the last lüne");
  });

  it("is undefined for a stream of blank lines", () => {
    expect(new LastLine().text).toBeUndefined();
  });
});
