import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { PLANTED_POSTGRES_BUGS } from "./planted-postgres-bugs.js";
import { type PostgresLives, postgresLives } from "./postgres-stores.js";
import { type PlantedBug, withSeams } from "./seams.js";
import { simulateNodes } from "./several-nodes.js";

const MOST_SEEDS = 10;
/** Several lives, each of some hundred round trips to a real server, also on a machine that is busy. */
const LONGEST_MS = 600_000;

describe("the simulator on PostgreSQL", () => {
  let lives: PostgresLives;
  beforeAll(async () => {
    lives = await postgresLives(inject("databaseUrl"));
  });
  afterAll(() => lives[Symbol.asyncDispose]());

  async function firstBroken(bug: PlantedBug): Promise<string | undefined> {
    const rota = await withSeams(bug.seams);
    const others = Array.from({ length: MOST_SEEDS }, (_, index) => index + 1);
    for (const seed of [bug.seed ?? 1, ...others]) {
      const { broken } = await simulateNodes(seed, lives, rota);
      if (broken !== undefined) return broken.guarantee;
    }
    return undefined;
  }

  const bugs = PLANTED_POSTGRES_BUGS.map((bug) => [bug.name, bug] as const);

  it.each(bugs)(
    "notices when %s",
    async (_, bug) => {
      expect(bug.breaks).toContain(await firstBroken(bug));
    },
    LONGEST_MS,
  );
});
