import { fileURLToPath } from "node:url";
import { defineConfig, type ViteUserConfig } from "vitest/config";

const config: ViteUserConfig = defineConfig({
  // Examples import "rota" by name, as a user does; under test that is the source.
  resolve: { alias: { rota: fileURLToPath(new URL("src/index.ts", import.meta.url)) } },
  test: {
    include: ["__tests__/**/*.test.ts"],
    // Ends a test that hangs; a slow machine must not fail one that works.
    testTimeout: 60_000,
    coverage: {
      include: ["src/**/*.ts"],
      reporter: ["text", "html"],
      thresholds: { lines: 90, functions: 90, branches: 90, statements: 90 },
    },
  },
});

export default config;
