import { defineConfig, type ViteUserConfig } from "vitest/config";

const needsServer = (process.env["SIMULATION_STORE"] ?? "memory") !== "memory";

/** As many seeds as are asked for: scripts/simulate.js says how many, or which one, and on which store. */
const config: ViteUserConfig = defineConfig({
  test: {
    include: ["__tests__/**/*.simulation.ts"],
    setupFiles: ["__tests__/setup/definition-checks.ts"],
    globalSetup: needsServer ? ["__tests__/state/postgres/server.ts"] : [],
    testTimeout: 3_600_000,
  },
});

export default config;
