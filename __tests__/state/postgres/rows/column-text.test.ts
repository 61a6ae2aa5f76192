import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  linesOf,
  type Plain,
  plainArray,
  SharedColumn,
} from "../../../../src/state/postgres/rows/column-text.js";

const value: fc.Arbitrary<Plain> = fc.constantFrom<Plain>(1, 2.5, "word", true, false, null, undefined);
const values = fc
  .array(value, { minLength: 1, maxLength: 3 })
  .chain((different) => fc.array(fc.constantFrom(...different), { minLength: 1, maxLength: 8 }));

function columnOf(given: readonly Plain[]): SharedColumn {
  const column = new SharedColumn();
  for (const each of given) column.add(each);
  return column;
}

describe("an array of plain values", () => {
  it("has null for a missing value", () => {
    expect(plainArray([1, null, undefined, "word"])).toBe("{1,null,null,word}");
    expect(plainArray([1, 2])).toBe("{1,2}");
    expect(plainArray([])).toBe("{}");
  });
});

describe("texts as lines", () => {
  it("mark null by a text that no escaped text equals", () => {
    expect(linesOf(["a", null, "b"])).toBe("a\n\\\nb");
    expect(linesOf(["a", "b"])).toBe("a\nb");
  });
});

describe("a column whose values may all be the same", () => {
  it("is one value where they are, and else all of them", () => {
    fc.assert(
      fc.property(values, (given) => {
        const isShared = given.every((each) => each === given[0]);
        expect(columnOf(given).array).toBe(plainArray(isShared ? given.slice(0, 1) : given));
      }),
    );
  });

  it("says nothing where all are what is meant anyway, and else all of them", () => {
    fc.assert(
      fc.property(values, value, (given, meant) => {
        const isMeant = given.every((each) => each === meant);
        expect(columnOf(given).arrayBut(meant)).toBe(isMeant ? "{}" : plainArray(given));
      }),
    );
  });
});
