import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type HeapMember, IndexedHeap } from "../../../src/state/owner/due-order.js";

interface Item extends HeapMember {
  readonly id: number;
  rank: number;
}

const change = fc.record({ id: fc.nat({ max: 30 }), rank: fc.option(fc.nat({ max: 10 })) });

describe("an indexed heap", () => {
  it("has its members in order, however they came, moved and went", () => {
    fc.assert(
      fc.property(fc.array(change, { minLength: 30, maxLength: 200 }), (changes) => {
        const heap = new IndexedHeap<Item>((a, b) => a.rank < b.rank || (a.rank === b.rank && a.id < b.id));
        const items = Array.from({ length: 31 }, (_, id): Item => ({ id, rank: 0, place: -1 }));
        const members = new Set<Item>();
        for (const { id, rank } of changes) {
          const item = items[id] as Item;
          if (rank === null) {
            heap.remove(item);
            members.delete(item);
          } else {
            item.rank = rank;
            heap.place(item);
            members.add(item);
          }
        }
        const expected = [...members].toSorted((a, b) => a.rank - b.rank || a.id - b.id);
        expect(heap.size).toBe(expected.length);
        const drained: Item[] = [];
        for (let first = heap.first; first !== undefined; first = heap.first) {
          drained.push(first);
          heap.remove(first);
        }
        expect(drained).toEqual(expected);
      }),
      { numRuns: 1000 },
    );
  });
});
