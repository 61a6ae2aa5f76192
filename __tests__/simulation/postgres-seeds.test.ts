import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { explain } from "./explain.js";
import { type PostgresLives, postgresLives } from "./postgres-stores.js";
import { simulateNodes } from "./several-nodes.js";
import { ROTA, simulate } from "./simulation.js";

/** A life takes a second or so, a hundred times as long as in memory: `npm run test:simulation` has more. */
const SEEDS = [1, 3, 7, 11, 15, 18, 23];
const SEEDS_OF_SEVERAL = [1, 3, 4, 13, 41];

let lives: PostgresLives;
beforeAll(async () => {
  lives = await postgresLives(inject("databaseUrl"));
});
afterAll(() => lives[Symbol.asyncDispose]());

describe("a simulated scheduler on PostgreSQL", () => {
  it.each(SEEDS)("keeps its guarantees for seed %i", async (seed) => {
    expect(explain(await simulate(seed, ROTA, lives.storesOf))).toBeUndefined();
  });

  it("lives the same life again for the same seed", async () => {
    const { trace } = await simulate(4, ROTA, lives.storesOf);
    expect((await simulate(4, ROTA, lives.storesOf)).trace).toEqual(trace);
  });
});

describe("simulated schedulers that share PostgreSQL", () => {
  it.each(SEEDS_OF_SEVERAL)("keep their guarantees for seed %i", async (seed) => {
    expect(explain(await simulateNodes(seed, lives))).toBeUndefined();
  });

  it("live the same life again for the same seed", async () => {
    const { trace } = await simulateNodes(6, lives);
    expect((await simulateNodes(6, lives)).trace).toEqual(trace);
  });
});
