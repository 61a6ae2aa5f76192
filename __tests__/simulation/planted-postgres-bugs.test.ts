import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { withBug } from "./planted-bugs.js";
import { PLANTED_POSTGRES_BUGS, type PlantedPostgresBug } from "./planted-postgres-bugs.js";
import { type PostgresLives, postgresLives } from "./postgres-stores.js";
import { simulateNodes } from "./several-nodes.js";
import { simulate } from "./simulation.js";

const MOST_SEEDS = 10;
/** Several lives, each of some hundred round trips to a real server, also on a machine that is busy. */
const LONGEST_MS = 600_000;

describe("the simulator on PostgreSQL", () => {
  let lives: PostgresLives;
  beforeAll(async () => {
    lives = await postgresLives(inject("databaseUrl"));
  });
  afterAll(() => lives[Symbol.asyncDispose]());

  async function firstBroken(bug: PlantedPostgresBug, index: number): Promise<string | undefined> {
    const rota = await withBug(bug, 1_000 + index);
    for (let seed = bug.seed; seed < bug.seed + MOST_SEEDS; seed++) {
      const { broken } =
        bug.nodes === "one"
          ? await simulate(seed, rota, lives.storesOf)
          : await simulateNodes(seed, lives, rota);
      if (broken !== undefined) return broken.guarantee;
    }
    return undefined;
  }

  const bugs = PLANTED_POSTGRES_BUGS.map((bug, index) => [bug.name, bug, index] as const);

  it.each(bugs)(
    "notices when %s",
    async (_, bug, index) => {
      expect(bug.breaks).toContain(await firstBroken(bug, index));
    },
    LONGEST_MS,
  );
});
