import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";

const root = fileURLToPath(new URL("../../", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "rota-lint-"));

/** What the rule reports of a piece of code, each as the offending words. */
function reported(code: string): string[] {
  const config = join(folder, "oxlintrc.json");
  const plugin = join(root, "lint/no-real-time.js");
  writeFileSync(
    config,
    JSON.stringify({
      jsPlugins: [plugin],
      categories: { correctness: "off" },
      rules: { "rota/no-real-time": "error" },
    }),
  );
  writeFileSync(join(folder, "code.ts"), code);
  const oxlint = join(root, "node_modules/oxlint/bin/oxlint");
  try {
    execFileSync(process.execPath, [oxlint, "-c", config, "--format", "json", "code.ts"], { cwd: folder });
    return [];
  } catch (error) {
    const output = String((error as { stdout: Buffer }).stdout);
    const { diagnostics } = JSON.parse(output) as { diagnostics: { message: string }[] };
    return diagnostics.map(({ message }) => message.replace(/ is not allowed here: .*/, ""));
  }
}

describe("the lint rule against real time", () => {
  afterAll(() => rmSync(folder, { recursive: true }));

  it("finds every way to read real time or randomness", () => {
    const code = [
      'import { setTimeout as sleep } from "node:timers/promises";',
      "export const a = Date.now();",
      "export const b = new Date();",
      "export const c = Date();",
      "export const d = performance.now();",
      "export const e = process.hrtime.bigint();",
      "export const f = Math.random();",
      "setTimeout(() => sleep(1), 1);",
      "setInterval(() => {}, 1);",
      "setImmediate(() => {});",
      "globalThis.setTimeout(() => {}, 1);",
    ];
    expect(reported(code.join("\n")).toSorted()).toEqual(
      [
        'import "node:timers/promises"',
        "Date.now",
        "new Date()",
        "Date()",
        "performance.now",
        "process.hrtime",
        "Math.random",
        "setTimeout()",
        "setInterval()",
        "setImmediate()",
        "globalThis.setTimeout",
      ].toSorted(),
    );
  });

  it("leaves calculating with given times alone", () => {
    expect(
      reported(
        "export const at = new Date(0), n = Date.UTC(2026, 0), m = Math.floor(1.5), p = Date.parse('');",
      ),
    ).toEqual([]);
  });
});
