import { describe, expect, it } from "vitest";
import { explain } from "./explain.js";
import { simulate } from "./simulation.js";

const { SIMULATION_SEED: seed, SIMULATION_SEEDS: seeds = "2000", SIMULATION_FROM: from = "1" } = process.env;

describe("a simulated scheduler", () => {
  it.runIf(seed !== undefined)(`keeps its guarantees for seed ${seed}`, async () => {
    const result = await simulate(Number(seed));
    console.log(result.trace.join("\n"));
    expect(explain(result)).toBeUndefined();
  });

  it.runIf(seed === undefined)(`keeps its guarantees for ${seeds} seeds`, async () => {
    const failures: string[] = [];
    let jobs = 0;
    for (let current = Number(from); current < Number(from) + Number(seeds); current++) {
      const result = await simulate(current);
      jobs += result.jobs;
      const failure = explain(result);
      if (failure !== undefined) failures.push(failure);
    }
    console.log(`${seeds} seeds from ${from}: ${jobs} jobs, ${failures.length} broken guarantees`);
    console.log(failures.map((failure) => failure.split("\n")[0]).join("\n"));
    expect(failures[0]).toBeUndefined();
  });
});
