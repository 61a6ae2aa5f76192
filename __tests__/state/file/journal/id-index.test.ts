/** The index of the ids in a sealed segment. */
import { describe, expect, it } from "vitest";
import { hashOf, IdIndex } from "../../../../src/state/file/journal/id-index.js";

function indexOf(ids: readonly string[]): IdIndex {
  return IdIndex.of(
    ids.map((id, offset) => ({ part: "notes", id, offset })),
    ids.length,
  );
}

describe("an index", () => {
  it.each([0, 1, 2, 3, 10, 50_000])("of %i ids finds each of them, at 12 bytes an id", (count) => {
    const ids = Array.from({ length: count }, (_, at) => `order-${at}`);
    const index = IdIndex.decode(indexOf(ids).bytes);
    expect(index?.bytes.length).toBe(8 + 12 * count);
    const missed = ids.filter((id, at) => index?.offsetsOf(hashOf("notes", id)).includes(at) !== true);
    expect(missed).toEqual([]);
    const others = ids.filter((id) => index?.offsetsOf(hashOf("other", id)).length !== 0);
    expect(others).toEqual([]);
  });

  it("finds ids whose hashes lie unevenly", () => {
    const ids = Array.from({ length: 100_000 }, (_, at) => `n${at}`);
    const uneven = ids.filter(
      (id) => hashOf("notes", id).first < 2 ** 26 || hashOf("notes", id).first > 2 ** 31 * 1.99,
    );
    expect(uneven.length).toBeGreaterThan(1_000);
    const index = indexOf(uneven);
    const missed = uneven.filter((id, at) => !index.offsetsOf(hashOf("notes", id)).includes(at));
    expect(missed).toEqual([]);
  });

  it("gives the lines with one id, the last one first", () => {
    expect(indexOf(["a", "b", "a", "c", "a"]).offsetsOf(hashOf("notes", "a"))).toEqual([4, 2, 0]);
  });

  it("is not made from bytes that are damaged or cut", () => {
    const { bytes } = indexOf(["a", "b", "c"]);
    for (let at = 0; at < bytes.length; at++) {
      const damaged = Uint8Array.from(bytes);
      damaged[at] = (damaged[at] ?? 0) ^ 4;
      expect(IdIndex.decode(damaged)).toBeUndefined();
      expect(IdIndex.decode(bytes.subarray(0, at))).toBeUndefined();
    }
  });
});
