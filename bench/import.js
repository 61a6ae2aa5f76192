/**
 * What importing Rota costs, in processes of their own that take turns: the package with its bundled files, the same
 * code file by file, and the packages that Rota depends on. Start-up of Node itself is not counted.
 */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { median, printEnvironment } from "./measure.js";

const ROUNDS = 15;
const CONTENDERS = {
  rota: "rota",
  "rota, file by file": new URL("../dist/index.js", import.meta.url).href,
  "rota/scheduler": "rota/scheduler",
  "rota/config": "rota/config",
  "rota/postgres": "rota/postgres",
  yaml: "yaml",
  zod: "zod",
};

/** CPU microseconds of one import in a new process. */
function costOf(specifier) {
  const program = `
    const before = process.cpuUsage();
    await import(${JSON.stringify(specifier)});
    const { user, system } = process.cpuUsage(before);
    console.log(user + system);`;
  const { status, stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "--eval", program], {
    cwd: fileURLToPath(new URL("../", import.meta.url)),
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`Importing ${specifier} failed: ${stderr}`);
  return Number(stdout);
}

const names = Object.keys(CONTENDERS);
const costs = Object.fromEntries(names.map((name) => [name, []]));
for (let round = 0; round < ROUNDS; round++) {
  const turn = round % names.length;
  for (const name of [...names.slice(turn), ...names.slice(0, turn)])
    costs[name].push(costOf(CONTENDERS[name]));
}

printEnvironment("Importing", ["yaml", "zod", "pg"], ROUNDS);
console.log();
for (const name of names) {
  const ratios = costs[name].map((cost, round) => cost / costs.rota[round]);
  console.log(`${name.padEnd(20)} ${median(ratios).toFixed(2)} × rota`);
}
