/** The library must not import the command line, so that embedding Rota loads none of it. */
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { join } from "node:path";
import { describe, expect, it } from "vitest";

const SOURCE = fileURLToPath(new URL("../../src", import.meta.url));
const outside = readdirSync(SOURCE, { recursive: true, encoding: "utf8" })
  .filter((path) => path.endsWith(".ts") && !path.startsWith("cli"))
  .map((path) => ({ path, text: readFileSync(join(SOURCE, path), "utf8") }));
const importing = (what: RegExp): string[] =>
  outside.filter(({ text }) => what.test(text)).map(({ path }) => path);

describe("the library", () => {
  it("does not import commander", () => {
    expect(outside.length).toBeGreaterThan(100);
    expect(importing(/from "commander"/)).toEqual([]);
  });

  it("does not import src/cli", () => {
    expect(importing(/from "(\.{1,2}\/)+cli\//)).toEqual([]);
  });
});
