/**
 * Four projects, by what their tests need. `npm run test:fast` runs the first alone; a server is started, and dist/
 * built, only for the projects that are run. `npx vitest run <file>` finds the file's project by itself.
 */
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { defineConfig, type TestProjectInlineConfiguration, type ViteUserConfig } from "vitest/config";

/** Tests that start processes, most of them from dist/. */
const PROCESSES = [
  "__tests__/**/*process*.test.ts",
  "__tests__/cli/commands/*.test.ts",
  "__tests__/cli/program.test.ts",
  "__tests__/cli/unsupported-system.test.ts",
  "__tests__/cli/run/run-*.test.ts",
  "__tests__/config/{documentation,load-config}.test.ts",
  "__tests__/features/schedule-state.test.ts",
  "__tests__/package/*.test.ts",
  "__tests__/runner/output/secrets.test.ts",
  "__tests__/runner/runner-memory.test.ts",
  "__tests__/runner/runtimes/command-*.test.ts",
  "__tests__/state/file/{crash,damaged-files-kept,full-disk,permissions}.test.ts",
  "__tests__/state/file/lock/*.test.ts",
  "__tests__/state/file/yaml/hostile-sizes.test.ts",
  "__tests__/work-sources/directory/damage.test.ts",
];
/** Tests that need a PostgreSQL server; many start processes too. */
const POSTGRES = ["__tests__/**/postgres/**/*.test.ts", "__tests__/simulation/*postgres*.test.ts"];
const SIMULATION = ["__tests__/simulation/*.test.ts"];
const CHECKS = "__tests__/setup/definition-checks.ts";
const HANDLES = "__tests__/setup/open-handles.ts";
const BUILT = "__tests__/setup/built.ts";
const SERVER = "__tests__/state/postgres/server.ts";

const sourceOf = (name: string): string => fileURLToPath(new URL("src/", import.meta.url)) + name;

const project = (
  name: string,
  test: NonNullable<TestProjectInlineConfiguration["test"]>,
): TestProjectInlineConfiguration => ({ extends: true, test: { name, ...test } });

const config: ViteUserConfig = defineConfig({
  // The programs of the documentation import "rota" by name, as a user does; under test that is the source.
  resolve: {
    alias: [
      { find: /^rota$/, replacement: sourceOf("index.ts") },
      { find: /^rota\/(config|scheduler)$/, replacement: sourceOf("$1/index.ts") },
    ],
  },
  test: {
    projects: [
      project("fast", {
        include: ["__tests__/**/*.test.ts"],
        exclude: [...PROCESSES, ...POSTGRES, ...SIMULATION],
        setupFiles: [HANDLES, CHECKS, "__tests__/setup/no-processes.ts"],
        isolate: false,
      }),
      project("processes", {
        include: PROCESSES,
        exclude: POSTGRES,
        setupFiles: [HANDLES, CHECKS],
        globalSetup: [BUILT],
      }),
      project("postgres", { include: POSTGRES, setupFiles: [CHECKS], globalSetup: [BUILT, SERVER] }),
      project("simulation", { include: SIMULATION, exclude: POSTGRES, setupFiles: [CHECKS] }),
    ],
    maxWorkers: 2 * availableParallelism(),
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
