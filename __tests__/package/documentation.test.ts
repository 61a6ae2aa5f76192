/** Every code block in README and docs runs, compiles or is parsed; every link has a target. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { parse } from "yaml";
import { afterEach, describe, expect, it, vi } from "vitest";
import { parseConfig } from "../../src/config/parse-config.js";
import { readFleetState } from "../../src/state/file/state-functions.js";
import { stateDirectory } from "../state/temporary-directory.js";
import { anchorsOf, type Block, blocksOf, blocksOfAll, linksOf, PAGES, root } from "./pages.js";
import { runNode } from "./run-node.js";

/** The output of all programs of a page. The import "rota" resolves to src/. */
async function printedBy(page: string): Promise<string> {
  const folder = stateDirectory();
  // Files that the programs write are deleted with the folder.
  vi.stubEnv("TMPDIR", folder);
  vi.spyOn(process, "cwd").mockReturnValue(folder);
  const lines: string[] = [];
  vi.spyOn(console, "log").mockImplementation((...words: unknown[]) => lines.push(words.join(" ")));
  vi.spyOn(console, "info").mockImplementation(() => {});
  for (const [index, { text }] of blocksOf(page, "js").entries()) {
    const file = join(folder, `${index}.js`);
    writeFileSync(file, text);
    await import(pathToFileURL(file).href);
  }
  return lines.join("\n");
}

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

const PROGRAMS: readonly (readonly [page: string, printed: string])[] = [
  ["README.md", "reader completed did: Read the news."],
  ["docs/configuration.md", "completed hello world\nadded writer"],
  [
    "docs/embedding.md",
    "reader completed morning: Write the report.\nwebhook completed did: Answer ada@example.org.\nAnswer ada@example.org.\n00:00 00:10 00:20\n00:00 00:15 00:30",
  ],
  ["docs/runtimes.md", "completed done: say hello\nYou said: hello"],
  ["docs/scheduling.md", "2026-03-01T12:10:00.000Z baseline-interval"],
  ["docs/state.md", "idle 2026-03-01T12:00:00Z\ncompleted read 12 pages"],
  ["docs/troubleshooting.md", "true"],
  ["docs/work-sources.md", "login.md,login.md.outcome.yaml\nFeed the cat working\ndone"],
];

describe("the programs in the documentation", () => {
  it.each(PROGRAMS)("of %s work when pasted", async (page, printed) => {
    expect(await printedBy(page)).toBe(printed);
  });

  it("are all listed in this test", () => {
    const pages = PAGES.filter((page) => blocksOf(page, "js").length > 0);
    expect(pages).toEqual(PROGRAMS.map(([page]) => page));
  });

  it("compile if they are TypeScript", async () => {
    const folder = stateDirectory();
    const blocks = blocksOfAll("ts");
    expect(blocks.length).toBeGreaterThan(0);
    for (const { at, text } of blocks) writeFileSync(join(folder, `${at.replaceAll(/\W/g, "-")}.ts`), text);
    const source = (name: string): string[] => [join(root, "src", name)];
    const compilerOptions = {
      // The options of a careful user. Rules about declared exports apply to libraries only.
      isolatedDeclarations: false,
      declaration: false,
      typeRoots: [join(root, "node_modules/@types")],
      paths: {
        rota: source("index.ts"),
        "rota/config": source("config/index.ts"),
        "rota/postgres": source("state/postgres/index.ts"),
        pg: [join(root, "node_modules/@types/pg")],
      },
    };
    writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
    writeFileSync(
      join(folder, "tsconfig.json"),
      JSON.stringify({ extends: join(root, "tsconfig.json"), include: ["*.ts"], compilerOptions }),
    );
    const compiler = join(root, "node_modules/typescript/bin/tsc");
    const { exitCode, out } = await runNode([compiler, "--project", folder], { cwd: folder });
    expect({ exitCode, out }).toEqual({ exitCode: 0, out: "" });
  });
});

describe("the YAML in the documentation", () => {
  /** Reads a block as a state file, as a fleet, or as a part of an agent. */
  async function read({ text }: Block): Promise<unknown> {
    const folder = stateDirectory();
    const file = join(folder, "rota.yaml");
    const { agents } = parse(text, { uniqueKeys: false }) as { agents?: unknown };
    if (agents !== undefined && !Array.isArray(agents)) {
      writeFileSync(file, text);
      const refuse = (line: string): void => {
        throw new Error(line);
      };
      return readFleetState(file, { logger: { info: refuse, warn: refuse, error: refuse } });
    }
    const reader = join(folder, "agents/reader.yaml");
    mkdirSync(dirname(reader));
    writeFileSync(reader, "name: reader\nschedules: { nightly: { type: cron, cron: 0 3 * * * } }");
    const part = `agents:\n  - name: part\n${text.replaceAll(/^(?=.)/gm, "    ")}`;
    return parseConfig(agents === undefined ? part : text, { file, env: { API_TOKEN: "token" } });
  }

  it.each(blocksOfAll("yaml"))("at $at is valid", async (block) => {
    await expect(read(block)).resolves.toMatchObject({ agents: expect.anything() as unknown });
  });
});

describe("the documentation", () => {
  it("has code blocks in checked languages only", () => {
    const languages = new Set(blocksOfAll().map(({ language }) => language));
    // __tests__/cli/postgres/granted.test.ts runs the SQL on a server.
    expect([...languages].toSorted()).toEqual(["ini", "js", "sh", "sql", "text", "ts", "yaml"]);
  });

  it("names a test that exists for each guarantee", () => {
    const rows = readFileSync(join(root, "docs/guarantees.md"), "utf8")
      .split("\n")
      .filter((line) => /^\| [^-]/.test(line) && !line.includes("Tested by"));
    expect(rows.length).toBeGreaterThan(40);
    const named = rows.map((row) =>
      Array.from(row.matchAll(/`([\w./-]+\.[jt]s)`/g), ([, file = ""]) => file),
    );
    const isThere = (file: string): boolean =>
      [file, join("__tests__", file)].some((path) => existsSync(join(root, path)));
    expect(named.flat().filter((file) => !isThere(file))).toEqual([]);
    // Some are tested by the simulator or a benchmark.
    const untested = rows.filter(
      (row, index) => named[index]?.length === 0 && !/`npm run |simulator/.test(row),
    );
    expect(untested).toEqual([]);
  });

  it("has every page in the sidebar of the site", async () => {
    const { default: site } = (await import(join(root, "site/.vitepress/config.js"))) as {
      default: { themeConfig: { sidebar: { items: { link: string }[] }[] } };
    };
    const listed = site.themeConfig.sidebar.flatMap(({ items }) => items.map(({ link }) => link));
    const pages = PAGES.filter((page) => page.startsWith("docs/"));
    const links = pages.map((page) => page.replace(/^docs(.*?)(index)?\.md$/, "$1"));
    expect(listed.toSorted()).toEqual([...links, "/api/"].toSorted());
  });

  it.each(PAGES)("has no dead link in %s", (page) => {
    const dead = linksOf(page).filter((link) => {
      const [path = "", anchor] = link.split("#");
      const target = path === "" ? page : join(dirname(page), path);
      if (!existsSync(join(root, target))) return true;
      return anchor !== undefined && !anchorsOf(target).has(anchor);
    });
    expect(dead).toEqual([]);
  });
});
