import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const root = fileURLToPath(new URL("../../", import.meta.url));
let project: string;

beforeAll(() => {
  project = mkdtempSync(join(tmpdir(), "rota-lint-"));
  cpSync(join(root, ".oxlintrc.json"), join(project, ".oxlintrc.json"));
  cpSync(join(root, "lint"), join(project, "lint"), { recursive: true });
  mkdirSync(join(project, "src"));
});
afterAll(() => rmSync(project, { recursive: true }));

/** The expressions in a file that the lint rule no-real-time reports. */
function reported(file: string, code: string): string[] {
  writeFileSync(join(project, file), code);
  const oxlint = join(root, "node_modules/oxlint/bin/oxlint");
  try {
    execFileSync(process.execPath, [oxlint, "--format", "json", file], { cwd: project });
    return [];
  } catch (error) {
    const output = String((error as { stdout: Buffer }).stdout);
    const { diagnostics } = JSON.parse(output) as { diagnostics: { code: string; message: string }[] };
    return diagnostics
      .filter(({ code: rule }) => rule.includes("no-real-time"))
      .map(({ message }) => message.replace(/ is not allowed here: .*/, ""));
  }
}

const WAYS_IN: readonly (readonly [code: string, reported: string])[] = [
  ["export const a = Date.now();", "Date.now"],
  ['export const a = Date["now"]();', "Date.now"],
  ["export const a = globalThis.Date.now();", "Date.now"],
  ["export const { now } = Date;", "Date.now"],
  ["export const a = [1].map(Date.now);", "Date.now"],
  ["export const a = new Date();", "new Date()"],
  ["export const a = new globalThis.Date();", "new Date()"],
  ["export const a = Date();", "Date()"],
  ["export const a = performance.now();", "performance.now"],
  ["export const a = process.hrtime.bigint();", "process.hrtime"],
  ["export const a = Math.random();", "Math.random"],
  ["export const a = crypto.randomUUID();", "crypto.randomUUID"],
  ['import { randomInt } from "node:crypto";\nexport const a = randomInt(5);', "randomInt"],
  ["export const a = AbortSignal.timeout(5);", "AbortSignal.timeout"],
  ["setTimeout(() => {}, 1);", "setTimeout()"],
  ["globalThis.setTimeout(() => {}, 1);", "setTimeout()"],
  ["setInterval(() => {}, 1);", "setInterval()"],
  ["setImmediate(() => {});", "setImmediate()"],
  [
    'import { setTimeout as sleep } from "node:timers/promises";\nawait sleep(1);',
    'import "node:timers/promises"',
  ],
  ['export const a = import("node:timers");', 'import "node:timers"'],
];

describe("the lint against real time", () => {
  it.each(WAYS_IN)("sees through %j", (code, words) => {
    expect(reported("src/probe.ts", code)).toEqual([words]);
  });

  it("allows calculations with given times", () => {
    const code =
      "export const at = new Date(0), n = Date.UTC(2026, 0), m = Math.floor(1.5), p = Date.parse('');";
    expect(reported("src/probe.ts", code)).toEqual([]);
  });

  it("allows real time in clock.ts and randomness in random.ts", () => {
    expect(reported("src/clock.ts", "export const a = Date.now();")).toEqual([]);
    expect(reported("src/random.ts", "export const a = Math.random();")).toEqual([]);
  });
});
