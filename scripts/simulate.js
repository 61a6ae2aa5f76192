/** Simulates schedulers: `--seeds N` for that many lives, `--from S` to begin elsewhere, `--seed S` to see one again. */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const { values } = parseArgs({
  options: { seeds: { type: "string" }, from: { type: "string" }, seed: { type: "string" } },
});
const given = Object.entries(values);
for (const [name, value] of given) {
  if (/^\d+$/.test(value)) continue;
  console.error(`Invalid --${name} ${JSON.stringify(value)}: expected a whole number.`);
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
