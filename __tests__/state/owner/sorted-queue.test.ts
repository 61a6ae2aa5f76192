import { describe, expect, it } from "vitest";
import { seededRandom } from "../../../src/random.js";
import { SortedQueue } from "../../../src/state/owner/sorted-queue.js";

interface Member {
  readonly age: number;
  readonly name: number;
}

const byAge = (a: Member, b: Member): number => a.age - b.age || a.name - b.name;

describe("a sorted queue", () => {
  it("agrees with a list that is sorted anew each time, whatever is added and removed", () => {
    const random = seededRandom(7);
    const below = (count: number): number => Math.floor(random() * count);
    const queue = new SortedQueue<Member>(byAge);
    let list: Member[] = [];
    for (let step = 0; step < 3_000; step++) {
      const chosen = list[random() < 0.5 ? 0 : below(list.length)];
      if (random() < 0.4) {
        const added = Array.from({ length: below(4) }, (_, i) => ({ age: below(20), name: 4 * step + i }));
        queue.add(added);
        list = [...list, ...added].toSorted(byAge);
      } else if (chosen !== undefined) {
        queue.remove(chosen);
        list = list.filter((member) => member !== chosen);
      }
      expect(queue.first).toBe(list[0]);
      expect(queue.values()).toEqual(list);
    }
    expect(list.length).toBeGreaterThan(0);
    for (const member of list) queue.remove(member);
    expect([queue.first, queue.values()]).toEqual([undefined, []]);
  });
});
