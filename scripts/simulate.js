/**
 * Simulates schedulers: `--seeds N` runs N seeds, `--from S` starts at seed S, `--seed S` repeats one seed with its trace,
 * `--store memory|postgres|nodes` chooses one scheduler in memory, one on PostgreSQL, or several that share PostgreSQL.
 */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const STORES = ["memory", "postgres", "nodes"];

const { values } = parseArgs({
  options: {
    seeds: { type: "string" },
    from: { type: "string" },
    seed: { type: "string" },
    store: { type: "string" },
  },
});
const given = Object.entries(values);
for (const [name, value] of given) {
  if (name === "store" ? STORES.includes(value) : /^\d+$/.test(value)) continue;
  const expected = name === "store" ? STORES.join(", ") : "a whole number";
  console.error(`Invalid --${name} ${JSON.stringify(value)}: expected ${expected}.`);
  process.exit(2);
}
const root = fileURLToPath(new URL("../", import.meta.url));
const vitest = fileURLToPath(new URL("../node_modules/vitest/vitest.mjs", import.meta.url));
const settings = Object.fromEntries(
  given.map(([name, value]) => [`SIMULATION_${name.toUpperCase()}`, value]),
);
const { status } = spawnSync(
  process.execPath,
  [vitest, "run", "--config", "vitest.simulation.config.ts", "--disable-console-intercept"],
  { cwd: root, stdio: "inherit", env: { ...process.env, ...settings } },
);
process.exitCode = status ?? 1;
