import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import type { SeamBug } from "./planted-bugs.js";
import { PLANTED_POSTGRES_BUGS } from "./planted-postgres-bugs.js";
import { type PostgresLives, postgresLives } from "./postgres-stores.js";
import { withSeams } from "./seams.js";
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

  async function firstBroken(bug: SeamBug): Promise<string | undefined> {
    const rota = await withSeams(bug.seams);
    for (let seed = 1; seed <= MOST_SEEDS; seed++) {
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
