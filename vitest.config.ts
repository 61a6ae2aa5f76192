import { fileURLToPath } from "node:url";
import { defineConfig, type ViteUserConfig } from "vitest/config";

const sourceOf = (name: string): string => fileURLToPath(new URL("src/", import.meta.url)) + name;

const config: ViteUserConfig = defineConfig({
  // The programs of the documentation import "rota" by name, as a user does; under test that is the source.
  resolve: {
    alias: [
      { find: /^rota$/, replacement: sourceOf("index.ts") },
      { find: /^rota\/(config|scheduler)$/, replacement: sourceOf("$1/index.ts") },
    ],
  },
  test: {
    include: ["__tests__/**/*.test.ts"],
    globalSetup: ["__tests__/state/postgres/server.ts"],
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
