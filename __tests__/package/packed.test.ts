/** The package as a user installs it: its files, the modules that an import loads, and programs in an empty project. */
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, existsSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import * as config from "../../src/config/index.js";
import * as rota from "../../src/index.js";
import * as scheduler from "../../src/scheduler/index.js";
import * as postgres from "../../src/state/postgres/index.js";
import { stateDirectory, temporaryDirectory } from "../state/temporary-directory.js";
import { blocksOf, root } from "./pages.js";
import { runNode } from "./run-node.js";

interface Manifest {
  readonly version: string;
  readonly bin: Readonly<Record<string, string>>;
  readonly scripts: Readonly<Record<"prepack" | "prepare", string>>;
  readonly exports: Readonly<Record<string, string | { readonly types: string; readonly default: string }>>;
  readonly dependencies: Readonly<Record<string, string>>;
}

interface Packed {
  readonly filename: string;
  /** In bytes, compressed. */
  readonly size: number;
  readonly files: readonly { readonly path: string }[];
}

const LARGEST_BYTES = 400_000;
/** Importing `rota` loads about ten files; 180 took four times as long. */
const MOST_MODULES = 20;

const temporary = temporaryDirectory();
const project = temporary.path;
const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as Manifest;

/** The environment without the settings that npm gives to the scripts it runs. */
const env = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !name.toLowerCase().startsWith("npm_")),
);

/** Runs npm with an empty cache and without a network. */
function npm(...args: string[]): string {
  const options = ["--cache", join(project, ".cache"), "--offline", "--ignore-scripts", "--loglevel=error"];
  return execFileSync("npm", [...args, ...options], { cwd: project, encoding: "utf8", env });
}

let size: number;
let packed: readonly string[];

beforeAll(() => {
  writeFileSync(join(project, "package.json"), '{ "private": true, "type": "module" }');
  // The dependencies are packed here too, so that no registry is needed.
  const folders = Object.keys(manifest.dependencies).map((name) => join(root, "node_modules", name));
  const all = JSON.parse(npm("pack", "--json", root, ...folders)) as Packed[];
  size = all[0]?.size ?? NaN;
  packed = all[0]?.files.map(({ path }) => path).toSorted() ?? [];
  npm("install", "--no-audit", "--no-fund", ...all.map(({ filename }) => `./${filename}`));
}, 300_000);
afterAll(() => temporary[Symbol.dispose]());

/** The files that importing `name` loads, without the modules of Node itself. */
async function loadedBy(name: string): Promise<readonly string[]> {
  const hooks = `
    import { writeSync } from "node:fs";
    export async function load(url, context, next) {
      if (url.startsWith("file:")) writeSync(1, url + ";");
      return next(url, context);
    }`;
  const program = `
    import { register } from "node:module";
    register(${JSON.stringify(`data:text/javascript,${encodeURIComponent(hooks)}`)});
    await import(${JSON.stringify(name)});`;
  const { out, err } = await runNode(["--input-type=module", "--eval", program], { cwd: project });
  expect(err).toBe("");
  return out.split(";").slice(0, -1);
}

describe("the package", () => {
  it("has at its top level its description, licence and schema only", () => {
    expect(packed.filter((path) => !path.includes("/"))).toEqual([
      "CHANGELOG.md",
      "LICENSE",
      "README.md",
      "package.json",
      "rota.schema.json",
    ]);
  });

  it("has below lib/ code and types, and no sources or maps", () => {
    const below = packed.filter((path) => path.includes("/"));
    expect(below.filter((path) => !/^lib\/.*\.(js|d\.ts)$/.test(path))).toEqual([]);
  });

  it("is smaller than 400 kB", () => {
    expect(size).toBeLessThan(LARGEST_BYTES);
  });

  it("has the code and the types of every entry point", () => {
    const entries = Object.values(manifest.exports).flatMap((entry) =>
      typeof entry === "string" ? [entry] : [entry.types, entry.default],
    );
    const named = [...entries, ...Object.values(manifest.bin)].map((file) => file.replace("./", ""));
    expect(named.filter((file) => !packed.includes(file))).toEqual([]);
    expect(named.filter((file) => file.endsWith(".d.ts"))).toHaveLength(4);
  });

  it("has every file that its types import", () => {
    const missing = packed
      .filter((path) => path.endsWith(".d.ts"))
      .flatMap((path) => {
        const text = readFileSync(join(project, "node_modules/rota", path), "utf8");
        const imported = Array.from(text.matchAll(/(?:from |import\()"(\.[^"]*)\.js"/g), ([, to = ""]) => to);
        return imported.map((to) => join(dirname(path), `${to}.d.ts`));
      })
      .filter((path) => !packed.includes(path));
    expect(missing).toEqual([]);
  });

  it("has no type of a dependency in its types, except those of pg in rota/postgres", () => {
    const foreign = packed
      .filter((path) => path.endsWith(".d.ts"))
      .flatMap((path) => {
        const text = readFileSync(join(project, "node_modules/rota", path), "utf8");
        const modules = Array.from(
          text.matchAll(/(?:from |import\()"([^".][^"]*)"/g),
          ([, name = ""]) => name,
        );
        return modules.filter((name) => !name.startsWith("node:")).map((name) => `${name} in ${path}`);
      });
    expect(foreign).toEqual(["pg in lib/state/postgres/connection/database.d.ts"]);
  });

  it("exports from each entry point the names that its source exports", async () => {
    const sources = { rota, "rota/scheduler": scheduler, "rota/config": config, "rota/postgres": postgres };
    const names = Object.keys(sources);
    const program = `
      const entries = await Promise.all(${JSON.stringify(names)}.map((name) => import(name)));
      console.log(JSON.stringify(entries.map((entry) => Object.keys(entry))));`;
    // Here and not in the new project, which has no pg.
    const { out, err } = await runNode(["--input-type=module", "--eval", program], { cwd: root });
    expect(err).toBe("");
    expect(JSON.parse(out)).toEqual(Object.values(sources).map((source) => Object.keys(source).toSorted()));
  });

  it("shares its classes between its entry points", async () => {
    const program = `
      import { CronParseError, RotaError } from "rota";
      import { parseConfig } from "rota/config";
      import * as scheduler from "rota/scheduler";
      import { PostgresStore } from "rota/postgres";
      const thrown = [() => parseConfig("agents: 5"), () => new PostgresStore({ leaseMs: 1 })].map((act) => {
        try { act(); } catch (error) { return error instanceof RotaError; }
      });
      console.log(scheduler.CronParseError === CronParseError, ...thrown);`;
    const { out, err } = await runNode(["--input-type=module", "--eval", program], { cwd: root });
    expect({ out, err }).toEqual({ out: "true true true\n", err: "" });
  });

  it.each(["rota", "rota/scheduler"])("loads few files for %s, and no dependency", async (name) => {
    const files = await loadedBy(name);
    expect(files.length).toBeGreaterThan(0);
    expect(files.length).toBeLessThanOrEqual(MOST_MODULES);
    expect(files.filter((file) => !file.includes("/node_modules/rota/lib/"))).toEqual([]);
  });

  it("brings its dependencies, and nothing else", () => {
    const installed = readdirSync(join(project, "node_modules")).filter((name) => !name.startsWith("."));
    expect(installed.toSorted()).toEqual(["rota", ...Object.keys(manifest.dependencies)].toSorted());
  });

  it.each(["rota", "rota/scheduler"])(
    "lets a host declare its runtimes and work sources in %s",
    async (name) => {
      const program = `
      import type { Agent } from "${name}";
      declare module "${name}" {
        interface RegisteredRuntimes { docker: { readonly image: string } }
        interface RegisteredWorkSources { tickets: { readonly queue: string } }
      }
      const work_source = { type: "tickets", queue: "new" } as const;
      const schedules = { hook: { type: "webhook", work_source } } as const;
      export const right: Agent = { name: "a", runtime: { type: "docker", image: "x" }, schedules };
      // @ts-expect-error image
      export const wrong: Agent = { name: "a", runtime: { type: "docker", imag: "x" }, schedules };`;
      const file = join(project, `${name.replace("/", "-")}.ts`);
      writeFileSync(file, program);
      const options = [
        "--noEmit",
        "--strict",
        "--module",
        "nodenext",
        "--target",
        "es2023",
        "--lib",
        "es2023,esnext.disposable",
      ];
      const types = ["--typeRoots", join(root, "node_modules/@types"), "--types", "node"];
      const compiler = join(root, "node_modules/typescript/bin/tsc");
      const { exitCode, out } = await runNode([compiler, ...options, ...types, file], { cwd: project });
      expect({ exitCode, out }).toEqual({ exitCode: 0, out: "" });
    },
  );

  it("runs the README's program in a project that has nothing else", async () => {
    const [program] = blocksOf("README.md", "js");
    writeFileSync(join(project, "program.js"), program?.text ?? "");
    const { exitCode, out, err } = await runNode(["program.js"], { cwd: project });
    expect({ exitCode, err }).toEqual({ exitCode: 0, err: "" });
    expect(out).toContain("reader completed did: Read the news.");
  });

  it("reads a configuration in a project that has nothing else", async () => {
    const program = `
      import { parseConfig } from "rota/config";
      console.log(parseConfig("agents: [{ name: reader }]").agents[0].name);`;
    const { out, err } = await runNode(["--input-type=module", "--eval", program], { cwd: project });
    expect({ out, err }).toEqual({ out: "reader\n", err: "" });
  });

  it("has the rota command in a project that has nothing else", async () => {
    const { out, err } = await runNode(["node_modules/.bin/rota", "--version"], { cwd: project });
    expect({ out, err }).toEqual({ out: `${manifest.version}\n`, err: "" });
  });
});

describe("a clone that was not built", () => {
  /** What git has of the package, with or without the tools of its development. */
  function clone({ withTools }: { readonly withTools: boolean }): string {
    const folder = stateDirectory();
    const described = readdirSync(root).filter((name) => /^LICENSE$|\.(json|md)$/.test(name));
    for (const name of [...described, "scripts", "src"])
      cpSync(join(root, name), join(folder, name), { recursive: true });
    if (withTools) symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
    return folder;
  }

  /** Runs the script that npm runs at this point of an install or a pack. */
  function lifecycle(cwd: string, event: "prepack" | "prepare"): { status: number | null; stderr: string } {
    const [, ...args] = manifest.scripts[event].split(" ");
    return spawnSync(process.execPath, args, {
      cwd,
      encoding: "utf8",
      env: { ...env, npm_lifecycle_event: event },
    });
  }

  it("is built when it is packed, and not again until a source changes", () => {
    const folder = clone({ withTools: true });
    const pack = ["pack", "--json", "--silent", "--offline"];
    const [{ files } = { files: [] }] = JSON.parse(
      execFileSync("npm", pack, { cwd: folder, encoding: "utf8", env }),
    ) as Packed[];
    expect(files.map(({ path }) => path).toSorted()).toEqual(packed);
    // A build would clear the folder.
    const mark = join(folder, "lib/mark");
    writeFileSync(mark, "");
    expect(lifecycle(folder, "prepare").status).toBe(0);
    expect(existsSync(mark)).toBe(true);
    writeFileSync(join(folder, "src/added.ts"), "export const added = 1;\n");
    expect(lifecycle(folder, "prepare").status).toBe(0);
    expect(existsSync(mark)).toBe(false);
  });

  it("installs without development dependencies, but is not packed without code", () => {
    const folder = clone({ withTools: false });
    const problem = { stderr: expect.stringContaining("The compiler is not installed") as string };
    expect(lifecycle(folder, "prepare")).toMatchObject({ status: 0, ...problem });
    expect(lifecycle(folder, "prepack")).toMatchObject({ status: 1, ...problem });
  });
});
