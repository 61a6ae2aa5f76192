/** The lint of the tree: which imports, folders and names it refuses, and what it says. */
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { stateDirectory } from "../state/temporary-directory.js";
import { root } from "./pages.js";

const { structureProblems } = (await import(join(root, "lint/structure.js"))) as {
  structureProblems: (files: Readonly<Record<string, string>>, rules: object) => readonly string[];
};
const RULES = (await import(join(root, "lint/structure-rules.js"))) as object;

function problemsOf(files: Readonly<Record<string, string>>): readonly string[] {
  return structureProblems(files, RULES);
}

/** Whether the file `path` may import the file `target`, both given without "src/". */
function mayImport(path: string, target: string, statement = "import { a } from"): boolean {
  const specifier = `${"../".repeat(path.split("/").length - 1) || "./"}${target.replace(/\.ts$/, ".js")}`;
  return problemsOf({ [`src/${path}`]: `${statement} "${specifier}";` }).length === 0;
}

describe("the lint of layers", () => {
  it.each([
    ["cli/main.ts", "server/server.ts"],
    ["server/routes.ts", "fleet/fleet.ts"],
    ["fleet/fleet.ts", "config/load-config.ts"],
    ["config/build-agent.ts", "scheduler/agent.ts"],
    ["scheduler/scheduler.ts", "workflows/advance.ts"],
    ["events/topic.ts", "work-sources/registry.ts"],
    ["runner/runtimes/command.ts", "state/store.ts"],
    ["work-sources/directory/folder.ts", "state/file/disk.ts"],
    ["state/store.ts", "clock.ts"],
    ["cli/commands/run.ts", "clock.ts"],
    ["scheduler/loop/pass.ts", "scheduler/jobs/job.ts"],
    ["scheduler/jobs/job.ts", "scheduler/planning/governor.ts"],
    ["scheduler/planning/governor.ts", "scheduler/timing/cron.ts"],
    ["scheduler/planning/planner.ts", "scheduler/context.ts"],
    ["scheduler/timing/cron.ts", "scheduler/errors.ts"],
    ["state/postgres/writes/write.ts", "state/owner/operations.ts"],
    ["state/store.ts", "state/job-log/job-log.ts"],
    ["state/job-log/job-id.ts", "state/errors.ts"],
    ["index.ts", "scheduler/scheduler.ts"],
  ])("lets %s import %s", (path, target) => {
    expect(mayImport(path, target)).toBe(true);
  });

  it.each([
    ["server/routes.ts", "cli/main.ts"],
    ["config/build-agent.ts", "fleet/fleet.ts"],
    ["scheduler/scheduler.ts", "config/load-config.ts"],
    ["events/topic.ts", "scheduler/scheduler.ts"],
    ["events/topic.ts", "workflows/advance.ts"],
    ["runner/job-runner.ts", "work-sources/registry.ts"],
    ["state/file/file-store.ts", "runner/errors.ts"],
    ["clock.ts", "state/store.ts"],
    ["scheduler/planning/governor.ts", "scheduler/jobs/job.ts"],
    ["scheduler/planning/planner.ts", "scheduler/claims/held-claims.ts"],
    ["scheduler/timing/cron.ts", "scheduler/planning/governor.ts"],
    ["scheduler/timing/cron.ts", "scheduler/context.ts"],
    ["scheduler/planning/governor.ts", "scheduler/roster.ts"],
    ["state/claim-rules.ts", "state/file/yaml/state-document.ts"],
    ["state/claim-rules.ts", "state/owner/leases.ts"],
    ["state/memory/memory-store.ts", "state/file/disk.ts"],
    ["state/job-log/job-recovery.ts", "state/postgres/rows/row.ts"],
    ["cli/main.ts", "index.ts"],
    ["surprises/new.ts", "clock.ts"],
  ])("does not let %s import %s", (path, target) => {
    expect(mayImport(path, target)).toBe(false);
  });

  it.each([
    "import",
    "import type { A } from",
    "export { a } from",
    "export * from",
    "export type { A } from",
    "export const a = await import(",
    "export type A = import(",
  ])("sees %j", (statement) => {
    const text = statement.endsWith("(")
      ? `${statement}"../cli/main.js");`
      : `${statement} "../cli/main.js";`;
    expect(problemsOf({ "src/state/store.ts": text })).toHaveLength(1);
  });

  it.each(["client", "page"])("lets src/%s import types of the server, and nothing else", (folder) => {
    const path = `${folder}/main.ts`;
    expect(mayImport(path, "server/routes.ts", "import type { A } from")).toBe(true);
    expect(mayImport(path, "server/routes.ts", "import { type A, type B } from")).toBe(true);
    expect(mayImport(path, `${folder}/view.ts`)).toBe(true);
    expect(mayImport(path, "server/routes.ts", "import { type A, b } from")).toBe(false);
    expect(mayImport(path, "clock.ts", "import type { A } from")).toBe(false);
    expect(mayImport(path, "scheduler/agent.ts", "import type { A } from")).toBe(false);
  });

  it("leaves packages and imports within a folder alone", () => {
    const text =
      'import { join } from "node:path";\nimport { parse } from "yaml";\nimport { a } from "./a.js";';
    expect(problemsOf({ "src/state/store.ts": text })).toEqual([]);
  });

  it("names the line, the import, what is allowed and the remedy", () => {
    const text = 'import { now } from "../clock.js";\nimport { run } from "../runner/job-runner.js";\n';
    expect(problemsOf({ "src/state/store.ts": text })).toEqual([
      "src/state/store.ts:2: imports src/runner/job-runner.ts, but src/runner is above src/state, which may import: " +
        "src/state, the files directly in src. Move the imported code down, or take what it gives as an argument.",
    ]);
  });
});

describe("the lint of folders", () => {
  const folder = (path: string, count: number): Record<string, string> =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`${path}/file-${index}.ts`, ""]));

  it("accepts 18 files, and any number of commands", () => {
    expect(problemsOf({ ...folder("src/state", 18), ...folder("src/cli/commands", 30) })).toEqual([]);
  });

  it("refuses 19 files, without those of folders below", () => {
    expect(problemsOf({ ...folder("src/state", 19), ...folder("src/state/file", 18) })).toEqual([
      expect.stringMatching(/^src\/state: has 19 files, and 18 is the most\. Group files/),
    ]);
  });
});

describe("the lint of type names", () => {
  it.each([
    ["export interface Place {}", "export type Place = string;"],
    ["export class Place {}", "export abstract class Place {}"],
    ["export interface Place {}", "interface Place {}\nexport type { Place };"],
  ])("refuses two exported types of one name: %j and %j", (one, two) => {
    const problems = problemsOf({ "src/runner/a.ts": one, "src/state/b.ts": two });
    expect(problems).toEqual([
      expect.stringMatching(
        /^src\/runner\/a\.ts:1: exports a type named Place, and so does src\/state\/b\.ts:1\./,
      ),
    ]);
  });

  it.each([
    ["interface Place {}", "one that is not exported"],
    ['export type { Place } from "../state/a.js";', "one that is passed on"],
    ["export const Place = 1;", "a value"],
  ])("accepts beside an exported type %j: %s", (text) => {
    expect(problemsOf({ "src/state/a.ts": "export interface Place {}", "src/runner/b.ts": text })).toEqual(
      [],
    );
  });
});

describe("the command that npm run lint runs", () => {
  it("reads the tree, prints each problem and fails", () => {
    const project = stateDirectory();
    cpSync(join(root, "lint"), join(project, "lint"), { recursive: true });
    symlinkSync(join(root, "node_modules"), join(project, "node_modules"));
    writeFileSync(join(project, "package.json"), '{ "type": "module" }');
    mkdirSync(join(project, "src/state"), { recursive: true });
    writeFileSync(join(project, "src/state/store.ts"), 'import "../cli/main.js";\n');
    const { status, stderr } = spawnSync(process.execPath, [join(project, "lint/structure.js")], {
      encoding: "utf8",
    });
    expect(status).toBe(1);
    expect(stderr).toContain("src/state/store.ts:1: imports src/cli/main.ts");
  });
});
