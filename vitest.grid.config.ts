import { defineConfig, type ViteUserConfig } from "vitest/config";

/** The whole cron grid: minutes of work, so it runs on its own and not with every `npm test`. */
const config: ViteUserConfig = defineConfig({
  test: { include: ["__tests__/**/*.grid.ts"], testTimeout: 3_600_000 },
});

export default config;
