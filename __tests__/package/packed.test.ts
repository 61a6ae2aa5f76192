/** The package as a user gets it: what is in it, and that it works in a project that has nothing else. */
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { temporaryDirectory } from "../state/temporary-directory.js";
import { blocksOf, root } from "./pages.js";
import { runNode } from "./run-node.js";

interface Manifest {
  readonly version: string;
  readonly dependencies: Readonly<Record<string, string>>;
}

const temporary = temporaryDirectory();
const project = temporary.path;
const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as Manifest;

/** Runs npm as somebody does who has never run it before, and is not connected. */
function npm(...args: string[]): string {
  const own = Object.entries(process.env).filter(([name]) => !name.toLowerCase().startsWith("npm_"));
  const options = ["--cache", join(project, ".cache"), "--offline", "--ignore-scripts", "--loglevel=error"];
  return execFileSync("npm", [...args, ...options], {
    cwd: project,
    encoding: "utf8",
    env: Object.fromEntries(own),
  });
}

let packed: readonly string[];

beforeAll(() => {
  writeFileSync(join(project, "package.json"), '{ "private": true, "type": "module" }');
  // What it depends on comes from here too, so that no registry is needed.
  const folders = Object.keys(manifest.dependencies).map((name) => join(root, "node_modules", name));
  const answer = JSON.parse(npm("pack", "--json", root, ...folders)) as {
    filename: string;
    files: { path: string }[];
  }[];
  packed = answer[0]?.files.map(({ path }) => path).toSorted() ?? [];
  npm("install", "--no-audit", "--no-fund", ...answer.map(({ filename }) => `./${filename}`));
}, 300_000);
afterAll(() => temporary[Symbol.dispose]());

describe("the package", () => {
  it("has at its top what describes it, and nothing else", () => {
    expect(packed.filter((path) => !path.includes("/"))).toEqual([
      "CHANGELOG.md",
      "LICENSE",
      "README.md",
      "package.json",
      "rota.schema.json",
    ]);
    expect(new Set(packed.filter((path) => path.includes("/")).map((path) => path.split("/")[0]))).toEqual(
      new Set(["dist", "src"]),
    );
  });

  it("has each source file, and what was built of it: code, types, and the maps of both", () => {
    const sources = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })
      .filter((path) => path.endsWith(".ts"))
      .map((path) => path.replace(/\.ts$/, ""));
    const built = [".js", ".js.map", ".d.ts", ".d.ts.map"].flatMap((ending) =>
      sources.map((path) => `dist/${path}${ending}`),
    );
    const expected = [...sources.map((path) => `src/${path}.ts`), ...built];
    expect(packed.filter((path) => path.includes("/"))).toEqual(expected.toSorted());
  });

  it("brings what it depends on, and no more", () => {
    const installed = readdirSync(join(project, "node_modules")).filter((name) => !name.startsWith("."));
    expect(installed.toSorted()).toEqual(["rota", ...Object.keys(manifest.dependencies)].toSorted());
  });

  it("runs the README's program in a project that has nothing else", async () => {
    const [program] = blocksOf("README.md", "js");
    writeFileSync(join(project, "program.js"), program?.text ?? "");
    const { exitCode, out, err } = await runNode(["program.js"], { cwd: project });
    expect({ exitCode, err }).toEqual({ exitCode: 0, err: "" });
    expect(out).toContain("reader completed did: Read the news.");
  });

  it("reads a configuration there", async () => {
    const program = `
      import { parseConfig } from "rota/config";
      console.log(parseConfig("agents: [{ name: reader }]").agents[0].name);`;
    const { out, err } = await runNode(["--input-type=module", "--eval", program], { cwd: project });
    expect({ out, err }).toEqual({ out: "reader\n", err: "" });
  });

  it("has the rota command there", async () => {
    const { out, err } = await runNode(["node_modules/.bin/rota", "--version"], { cwd: project });
    expect({ out, err }).toEqual({ out: `${manifest.version}\n`, err: "" });
  });
});
