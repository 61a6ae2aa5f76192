import { defineConfig, type ViteUserConfig } from "vitest/config";

/** A thousand killed processes: minutes of work, so it runs on its own and not with every `npm test`. */
const config: ViteUserConfig = defineConfig({
  test: {
    include: ["__tests__/**/*.crash.ts"],
    globalSetup: ["__tests__/state/postgres/server.ts"],
    testTimeout: 3_600_000,
  },
});

export default config;
