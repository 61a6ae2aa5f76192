/**
 * Builds Rota twice: file by file into dist/, which tests and benchmarks import single modules from, and bundled into
 * lib/, which is what the package holds: few files load faster than 180. With --if-needed, only when a source is newer.
 */
import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../", import.meta.url));
const compiler = join(root, "node_modules/typescript/bin/tsc");
const { bin, exports, dependencies, peerDependencies } = JSON.parse(
  readFileSync(join(root, "package.json"), "utf8"),
);

/** The entry points that package.json names, as paths below lib/ and dist/: "scheduler/index". */
const libraries = Object.values(exports).flatMap(({ default: file }) => (file === undefined ? [] : [file]));
const entries = [...libraries, ...Object.values(bin)].map((file) =>
  file.replace(/^\.\/lib\/(.*)\.js$/, "$1"),
);

/** When the newest of these files and folders was written. A folder counts too, because a deleted file leaves no other trace. */
function newestMs(...names) {
  const below = names.filter((name) => statSync(join(root, name)).isDirectory());
  const all = below.flatMap((name) =>
    readdirSync(join(root, name), { recursive: true }).map((path) => join(name, path)),
  );
  return Math.max(...[...names, ...all].map((name) => statSync(join(root, name)).mtimeMs));
}

function isBuilt() {
  const written = [...entries.map((entry) => `lib/${entry}.js`), "dist/index.js"];
  if (!written.every((file) => existsSync(join(root, file)))) return false;
  const sources = ["src", "scripts/build.js", "package.json", "tsconfig.json", "tsconfig.build.json"];
  return newestMs(...sources) < Math.min(...written.map((file) => statSync(join(root, file)).mtimeMs));
}

async function bundle() {
  const { build } = await import("rolldown");
  const installed = Object.keys({ ...dependencies, ...peerDependencies });
  await build({
    cwd: root,
    input: Object.fromEntries(entries.map((entry) => [entry, `dist/${entry}.js`])),
    platform: "node",
    external: [/^node:/, ...installed, ...installed.map((name) => new RegExp(`^${name}/`))],
    output: {
      dir: "lib",
      // Chunks lie as deep as cli/main.js: both find package.json two folders up.
      chunkFileNames: "chunks/[name].js",
      // Not minified, so that a stack trace names real functions. The comments are in the types.
      comments: false,
    },
    logLevel: "warn",
  });
}

/** Copies the types that the entry points reach; an editor finds no others. */
function copyTypes(path, copied = new Set()) {
  if (copied.has(path)) return;
  copied.add(path);
  const from = join(root, "dist", path);
  const to = join(root, "lib", path);
  mkdirSync(dirname(to), { recursive: true });
  copyFileSync(from, to);
  for (const [, target] of readFileSync(from, "utf8").matchAll(/(?:from |import\()"(\.[^"]*)\.js"/g))
    copyTypes(join(dirname(path), `${target}.d.ts`), copied);
}

async function main() {
  const onlyIfNeeded = process.argv.includes("--if-needed");
  if (onlyIfNeeded && isBuilt()) return;
  if (!existsSync(compiler)) {
    const problem = "The compiler is not installed: run `npm ci` without --omit=dev to build Rota.";
    // An install without development dependencies may go on; a package without code must not be made.
    if (process.env.npm_lifecycle_event !== "prepare") throw new Error(problem);
    console.error(problem);
    return;
  }
  for (const folder of ["dist", "lib"]) rmSync(join(root, folder), { recursive: true, force: true });
  execFileSync(process.execPath, [compiler, "-p", "tsconfig.build.json"], { cwd: root, stdio: "inherit" });
  await bundle();
  const copied = new Set();
  for (const file of libraries) copyTypes(file.replace(/^\.\/lib\/(.*)\.js$/, "$1.d.ts"), copied);
}

await main();
