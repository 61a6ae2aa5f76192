import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { explain } from "./explain.js";
import { type PostgresLives, postgresLives } from "./postgres-stores.js";
import { simulateNodes } from "./several-nodes.js";
import { ROTA, simulate, type SimulationResult } from "./simulation.js";

const {
  SIMULATION_SEED: seed,
  SIMULATION_SEEDS: seeds = "2000",
  SIMULATION_FROM: from = "1",
  SIMULATION_STORE: store = "memory",
} = process.env;

const SUBJECTS: Readonly<Record<string, string>> = {
  memory: "a simulated scheduler",
  postgres: "a simulated scheduler on PostgreSQL",
  nodes: "simulated schedulers that share PostgreSQL",
};

describe(`${SUBJECTS[store]}`, () => {
  let lives: PostgresLives | undefined;
  beforeAll(async () => {
    if (store !== "memory") lives = await postgresLives(inject("databaseUrl"));
  });
  afterAll(() => lives?.[Symbol.asyncDispose]());
  const live = (number: number): Promise<SimulationResult> =>
    store === "nodes" && lives !== undefined
      ? simulateNodes(number, lives)
      : simulate(number, ROTA, lives?.storesOf);

  it.runIf(seed !== undefined)(`keeps its guarantees for seed ${seed}`, async () => {
    const result = await live(Number(seed));
    console.log(result.trace.join("\n"));
    expect(explain(result)).toBeUndefined();
  });

  it.runIf(seed === undefined)(`keeps its guarantees for ${seeds} seeds`, async () => {
    const failures: string[] = [];
    let jobs = 0;
    for (let current = Number(from); current < Number(from) + Number(seeds); current++) {
      const result = await live(current);
      jobs += result.jobs;
      const failure = explain(result);
      if (failure !== undefined) failures.push(failure);
    }
    console.log(`${seeds} seeds from ${from}: ${jobs} jobs, ${failures.length} broken guarantees`);
    console.log(failures.map((failure) => failure.split("\n")[0]).join("\n"));
    expect(failures[0]).toBeUndefined();
  });
});
