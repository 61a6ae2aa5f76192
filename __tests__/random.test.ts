import { describe, expect, it } from "vitest";
import { seededRandom, systemRandom } from "../src/index.js";
import { randomToken } from "../src/random.js";

describe("seededRandom", () => {
  it("repeats itself for the same seed and differs for a different one", () => {
    const draw = (seed: number): number[] => Array.from({ length: 20 }, seededRandom(seed));
    expect(draw(42)).toEqual(draw(42));
    expect(draw(42)).not.toEqual(draw(43));
  });

  it("spreads evenly over [0, 1)", () => {
    const random = seededRandom(1);
    const tenths = Array.from({ length: 10 }, () => 0);
    for (let i = 0; i < 10_000; i++) {
      const tenth = Math.floor(random() * 10);
      tenths[tenth] = (tenths[tenth] ?? Number.NaN) + 1;
    }
    for (const count of tenths) expect(Math.abs(count - 1000)).toBeLessThan(150);
  });
});

describe("systemRandom", () => {
  it("draws numbers in [0, 1)", () => {
    for (let i = 0; i < 100; i++) {
      const drawn = systemRandom();
      expect(drawn >= 0 && drawn < 1).toBe(true);
    }
  });
});

describe("randomToken", () => {
  it("never repeats a token or a part of one", () => {
    const tokens = Array.from({ length: 2_000 }, randomToken);
    for (const token of tokens) expect(token).toMatch(/^[0-9a-f]{24}$/);
    const halves = tokens.flatMap((token) => [token.slice(0, 12), token.slice(12)]);
    expect(new Set(halves).size).toBe(halves.length);
  });
});
