/** Files that are large, deep or dense enough to keep a careless reader busy. Read in processes that run the build. */
import { execFile } from "node:child_process";
import { readdirSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { emptyDocument } from "../../../../src/state/file/yaml/state-document.js";
import { readDocument } from "../../../../src/state/file/yaml/read-document.js";
import { renderAgent } from "../../../../src/state/file/yaml/state-document.js";
import { around, goodAgent, HEAD } from "./hostile-file.js";
import { temporaryDirectory } from "../../temporary-directory.js";

const run = promisify(execFile);
const PROGRAM = fileURLToPath(new URL("../../processes/read-state.js", import.meta.url));
const MEGABYTE = 1_000_000;

interface Reading {
  readonly state: { readonly failure_count?: number };
  readonly again: { readonly failure_count?: number };
  readonly warnings: readonly string[];
  readonly cpuMs: number;
  readonly grownBytes: number;
}

async function readIn(stateDir: string): Promise<Reading> {
  const { stdout } = await run(process.execPath, ["--max-old-space-size=200", PROGRAM, stateDir]);
  return JSON.parse(stdout) as Reading;
}

/** Most take a fraction of a second, and the worst two; a reader that is caught takes minutes, or dies. */
const MOST_CPU_MS = 3_000;
const MOST_BYTES = 300 * MEGABYTE;
const good = { failure_count: 2 };

const repeated = (text: string, bytes: number): string => text.repeat(Math.ceil(bytes / text.length));
const numbered = (count: number, line: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => line(index)).join("");

const simpleAgent = (name: string): string =>
  renderAgent({ name, other: {}, schedules: new Map([["daily", { status: "idle", failure_count: 2 }]]) });

/** In the middle, between two good agents. */
const MIDDLES: Readonly<Record<string, () => string>> = {
  "a line of 2 MB": () => `  middle: ${"x".repeat(2 * MEGABYTE)}\n`,
  "a quoted line of 2 MB": () => `  middle:\n    x: "${"x".repeat(2 * MEGABYTE)}\n`,
  "a name of 2 MB": () => `  "${"x\\n".repeat(MEGABYTE)}": {}\n`,
  "20,000 keys in one map, of which one is there twice": () =>
    `  middle:\n${numbered(20_000, (index) => `    key-${index}: ${index}\n`)}    key-7: 1\n`,
  "20,000 damaged schedules": () =>
    `  middle:\n    schedules:\n${numbered(20_000, (index) => `      s${index}:\n        status: ${index}\n`)}`,
  "2,000 agents by hand, of which one is broken": () =>
    `${numbered(2_000, (index) => `  agent-${index}: # by hand\n    schedules: {a: {status: idle}}\n`)}  b: [\n`,
  "a list of a million items": () => `  middle:\n    x: [${repeated("1,", 2 * MEGABYTE)}]\n`,
  "a million brackets": () => `  middle:\n    x: ${"[".repeat(MEGABYTE)}\n`,
  "a million closed brackets": () =>
    `  middle:\n    x: ${"[".repeat(MEGABYTE / 2)}${"]".repeat(MEGABYTE / 2)}\n`,
  "a million errors": () => `  middle:\n    x: ${repeated("{}", 2 * MEGABYTE)}\n`,
  "lists within lists by dashes": () => `  middle:\n    ${repeated("- ", MEGABYTE)}1\n`,
  "maps 3,000 deep": () => `  middle:\n${numbered(3_000, (index) => `${" ".repeat(index + 4)}x:\n`)}`,
  "an alias bomb": () =>
    `  middle:\n    a: &a [x]\n${numbered(5_000, (index) => `    b${index}: &b${index} [*a, *a, *a, *a, *a, *a, *a, *a]\n`)}`,
  "a million tags": () => `  middle:\n    x: ${repeated("!a ", 2 * MEGABYTE)}\n`,
  "a million anchors": () => `  middle:\n    x: ${repeated("&a ", 2 * MEGABYTE)}\n`,
  "a million question marks": () => `  middle:\n    x:\n      ${repeated("? ", 2 * MEGABYTE)}\n`,
  "a megabyte of tabs": () => `  middle:\n${"\t".repeat(MEGABYTE)}\n`,
};

describe("a good agent is read in seconds, with a heap of 200 MB, beside", () => {
  it.each(Object.entries(MIDDLES))("%s", async (_, middle) => {
    using directory = temporaryDirectory();
    writeFileSync(join(directory.path, "state.yaml"), around(middle()));
    const { state, again, warnings, cpuMs, grownBytes } = await readIn(directory.path);
    expect({ state, again }).toMatchObject({ state: good, again: good });
    expect(warnings[0]).toContain(`Damage in ${join(directory.path, "state.yaml")}: `);
    expect(warnings.filter((warning) => warning.length > 500)).toEqual([]);
    expect(cpuMs).toBeLessThan(MOST_CPU_MS);
    expect(grownBytes).toBeLessThan(MOST_BYTES);
  });
});

const WHOLES: Readonly<Record<string, () => string>> = {
  "60 MB of newlines": () => "\n".repeat(60 * MEGABYTE),
  "60 MB of comments": () => `agents: 1\n${repeated("# x\n", 60 * MEGABYTE)}`,
  "12 million agents": () => `agents:\n${repeated("  a:\n", 60 * MEGABYTE)}`,
  "60 MB on one line": () => `agents: ${"x".repeat(60 * MEGABYTE)}`,
  "60 MB in a quoted key": () => `agents:\n  "${"\\n".repeat(30 * MEGABYTE)}": {}\n`,
  "2 MB of documents": () => repeated("---\n", 2 * MEGABYTE),
  "2 MB of top-level keys": () => numbered(200_000, (index) => `k${index}:\n`),
  "2 MB of errors": () => repeated("] \n", 2 * MEGABYTE),
  "2 MB of braces": () => repeated("{}", 2 * MEGABYTE),
};

describe("an answer is given in seconds, with a heap of 200 MB, to", () => {
  it.each(Object.entries(WHOLES))("%s", async (_, whole) => {
    using directory = temporaryDirectory();
    writeFileSync(join(directory.path, "state.yaml"), whole());
    const { state, warnings, cpuMs, grownBytes } = await readIn(directory.path);
    expect(state).toMatchObject({ status: "idle", last_run_at: null });
    expect(warnings[0]).toContain(`Damage in ${join(directory.path, "state.yaml")}: `);
    expect(cpuMs).toBeLessThan(MOST_CPU_MS);
    expect(grownBytes).toBeLessThan(MOST_BYTES);
  });

  it("a file of 100 MB, which is set aside unread", async () => {
    using directory = temporaryDirectory();
    const path = join(directory.path, "state.yaml");
    writeFileSync(path, HEAD + goodAgent("first"));
    truncateSync(path, 100 * MEGABYTE);
    const { warnings, cpuMs, grownBytes } = await readIn(directory.path);
    expect(warnings).toEqual([
      expect.stringContaining("it has 100000000 bytes, more than the 64000000 allowed"),
    ]);
    const kept = readdirSync(directory.path).find((name) => name.startsWith("state.yaml.corrupt-")) ?? "";
    expect(statSync(join(directory.path, kept)).size).toBe(100 * MEGABYTE);
    expect(cpuMs).toBeLessThan(MOST_CPU_MS);
    expect(grownBytes).toBeLessThan(50 * MEGABYTE);
  });
});

describe("a file in another layout that is too long to be read as a whole", () => {
  it("is read agent by agent, and said to be damaged: what was cut may have meant something else", async () => {
    const agents = numbered(20_000, (index) => simpleAgent(`agent-${index}`));
    const { document, damages } = await readDocument(Buffer.from(`---\nagents:\n${agents}`), emptyDocument());
    expect(document.agents.size).toBe(20_000);
    expect(damages).toEqual([expect.stringMatching(/bytes are more than can be read/)]);
  });
});
