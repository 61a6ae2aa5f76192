import { defineConfig, type ViteUserConfig } from "vitest/config";

/** As many seeds as are asked for: scripts/simulate.js says how many, or which one. */
const config: ViteUserConfig = defineConfig({
  test: { include: ["__tests__/**/*.simulation.ts"], testTimeout: 3_600_000 },
});

export default config;
