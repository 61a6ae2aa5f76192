/**
 * Everything that a change must pass, as `npm test` runs it. The scripts of a stage run side by side. A script that
 * passes prints one line, a script that fails prints its whole output; the tests print as they run.
 */
import { spawn } from "node:child_process";
import { stripVTControlCharacters } from "node:util";

/**
 * The build is alone, because lint and types read what it writes. What takes seconds comes before the tests, so that
 * they neither wait for a typing mistake nor share their cores with it.
 */
const STAGES = [["build"], ["lint", "typecheck", "check:package"], ["test:unit", "docs:build"]];
const TESTS = "test:unit";

const seconds = (ms) => `${(ms / 1000).toFixed(1)} s`;

/** Runs an npm script; resolves to its output and whether it passed. */
function runScript(name) {
  const colors = process.stdout.isTTY ? { FORCE_COLOR: "1" } : {};
  const child = spawn("npm", ["run", "--silent", name], {
    env: { ...process.env, ...colors },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  const keep = (text) => {
    output += text;
    if (name === TESTS) process.stdout.write(text);
  };
  child.stdout.setEncoding("utf8").on("data", keep);
  child.stderr.setEncoding("utf8").on("data", keep);
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => resolve({ output, passed: code === 0 }));
  });
}

/** Runs a script and says how it went; resolves to its name when it failed. */
async function report(name) {
  const startMs = performance.now();
  const { output, passed } = await runScript(name);
  const took = seconds(performance.now() - startMs);
  if (name === TESTS) testOutput = output;
  if (!passed && name !== TESTS) console.log(`\n── ${name} ──\n${output.trimEnd()}\n`);
  console.log(`${passed ? "✓" : "✗"} ${name} (${took})`);
  return passed ? undefined : name;
}

/** What vitest counted, as "5308 passed, 0 failed"; `undefined` before it has run. */
function testCounts() {
  const line = /^ +Tests +(.+)$/m.exec(stripVTControlCharacters(testOutput))?.[1];
  if (line === undefined) return undefined;
  const count = (what) => /\d+/.exec(new RegExp(`\\d+ ${what}`).exec(line)?.[0] ?? "0")?.[0];
  return `${count("passed")} passed, ${count("failed")} failed`;
}

let testOutput = "";
const startMs = performance.now();
const failed = [];
for (const names of STAGES) {
  if (failed.length > 0) break;
  const results = await Promise.all(names.map(report));
  failed.push(...results.filter((name) => name !== undefined));
}
const outcome = failed.length === 0 ? "Everything passed" : `Failed: ${failed.join(", ")}`;
const counts = testCounts();
console.log(
  `\n${outcome} (${seconds(performance.now() - startMs)}).${counts === undefined ? "" : ` Tests: ${counts}`}`,
);
process.exitCode = failed.length === 0 ? 0 : 1;
