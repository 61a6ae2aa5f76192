/** Decisions by chance that can be repeated. */
import { type Random, seededRandom } from "../../src/random.js";

export class Dice {
  readonly random: Random;

  constructor(seed: number, stream: number) {
    this.random = seededRandom(seed * 1_009 + stream * 7_919);
  }

  chance(probability: number): boolean {
    return this.random() < probability;
  }

  /** A whole number, both ends included. */
  whole(least: number, most: number): number {
    return least + Math.floor(this.random() * (most - least + 1));
  }

  pick<Item>(items: readonly Item[]): Item {
    const item = items[Math.floor(this.random() * items.length)];
    if (item === undefined) throw new RangeError("There is nothing to pick from.");
    return item;
  }
}
