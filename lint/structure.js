/**
 * Lint of the tree as a whole: imports follow the layers, no folder is too full, and no two exported types share a name.
 * Prints each problem with its place and its remedy. The rules themselves are in structure-rules.js.
 */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, posix, relative } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseAst } from "rolldown/parseAst";
import * as RULES from "./structure-rules.js";

const TYPE_DECLARATIONS = new Set([
  "ClassDeclaration",
  "TSEnumDeclaration",
  "TSInterfaceDeclaration",
  "TSTypeAliasDeclaration",
]);

/** The problems of a tree, as lines of text. `files` maps paths such as "src/clock.ts" to their text. */
export function structureProblems(files, rules = RULES) {
  const modules = Object.entries(files)
    .filter(([path]) => /\.tsx?$/.test(path))
    .map(([path, text]) => readModule(path, text));
  const problems = [
    ...importProblems(modules, rules),
    ...folderProblems(Object.keys(files), rules),
    ...typeProblems(modules),
  ];
  return problems.map(({ at, message }) => `${at}: ${message}`);
}

/** What a file imports, with the lines of it, and the types it exports. */
function readModule(path, text) {
  const { body } = parseAst(text, { lang: path.endsWith("x") ? "tsx" : "ts" }, path);
  const lineOf = ({ start }) => text.slice(0, start).split("\n").length;
  const imports = [];
  const visit = (node) => {
    if (node === null || typeof node !== "object") return;
    const specifier = node.source?.value ?? node.argument?.literal?.value;
    if (/^(Import|Export|TSImport)/.test(node.type) && specifier?.startsWith(".") === true)
      imports.push({ to: sourceOf(path, specifier), line: lineOf(node), isType: importsTypesOnly(node) });
    Object.values(node).forEach(visit);
  };
  visit(body);
  const types = exportedTypes(body).map((node) => ({ name: node.id.name, line: lineOf(node) }));
  return { path, imports, types };
}

function importsTypesOnly({ type, importKind, exportKind, specifiers = [] }) {
  if (type === "TSImportType" || importKind === "type" || exportKind === "type") return true;
  const kinds = specifiers.map((specifier) => specifier.importKind ?? specifier.exportKind);
  return kinds.length > 0 && kinds.every((kind) => kind === "type");
}

function sourceOf(path, specifier) {
  return posix.join(posix.dirname(path), specifier).replace(/\.js(x?)$/, ".ts$1");
}

/** Types that the file itself declares; what it passes on from elsewhere has its name there. */
function exportedTypes(body) {
  const exported = body.filter(({ type, source }) => type === "ExportNamedDeclaration" && source === null);
  const listed = new Set(exported.flatMap(({ specifiers }) => specifiers.map(({ local }) => local.name)));
  return [
    ...exported.map(({ declaration }) => declaration),
    ...body.filter(({ id }) => listed.has(id?.name)),
  ].filter((node) => TYPE_DECLARATIONS.has(node?.type));
}

function importProblems(modules, rules) {
  return modules.flatMap(({ path, imports }) =>
    imports.flatMap(({ to, line, isType }) => {
      const message = refusal({ path, to, isType }, rules);
      return message === undefined ? [] : [{ at: `${path}:${line}`, message }];
    }),
  );
}

/** Why `path` must not import `to`; `undefined` when it may. */
function refusal({ path, to, isType }, { LAYERS, TYPES_ONLY, ENTRY_POINTS, PURE }) {
  if (ENTRY_POINTS.includes(path)) return undefined;
  if (ENTRY_POINTS.includes(to))
    return `imports ${to}, which is for users of the package. Import the file that declares the name.`;
  const home = childOf("src", path);
  if (home in TYPES_ONLY && childOf("src", to) !== home) {
    const allowed = TYPES_ONLY[home];
    if (childOf("src", to) === allowed && isType) return undefined;
    return `imports ${to}, but src/${home} may import types of src/${allowed} only. Use \`import type\`, or ask for the value over HTTP.`;
  }
  const isPure = PURE.folders.includes(posix.dirname(path)) && !PURE.except.includes(path);
  if (isPure && posix.dirname(to) === PURE.of && !PURE.mayImport.includes(to))
    return `imports ${to}, but files that only decide may import ${PURE.mayImport.join(", ")} of ${PURE.of} only. Take what it needs as an argument.`;
  for (const [parent, lines] of Object.entries(LAYERS)) {
    const message = layerRefusal(parent, lines, path, to);
    if (message !== undefined) return message;
  }
  return undefined;
}

function layerRefusal(parent, lines, path, to) {
  if (!isBelow(parent, path) || !isBelow(parent, to)) return undefined;
  const [from, target] = [path, to].map((file) => placeIn(lines, childOf(parent, file)));
  const name = (child) => (child === "." ? `the files directly in ${parent}` : `${parent}/${child}`);
  // Only src itself must list all of its folders.
  if (parent === "src" && (from === undefined || target === undefined)) {
    const missing = name(childOf(parent, from === undefined ? path : to));
    return `${missing} is in no layer. Add it to LAYERS in lint/structure-rules.js.`;
  }
  if (from === undefined || target === undefined) return undefined;
  if (from.group === target.group || from.line < target.line) return undefined;
  const below = lines.slice(from.line + 1).flat(2);
  const allowed = [...from.group, ...below].map(name).join(", ");
  const side = from.line === target.line ? "beside" : "above";
  return (
    `imports ${to}, but ${name(childOf(parent, to))} is ${side} ${name(childOf(parent, path))}, which may import: ${allowed}. ` +
    "Move the imported code down, or take what it gives as an argument."
  );
}

function isBelow(parent, file) {
  return file.startsWith(`${parent}/`);
}

/** The folder or "." in which `parent` holds a file. */
function childOf(parent, file) {
  const [first, ...rest] = posix.relative(parent, file).split("/");
  return rest.length === 0 ? "." : first;
}

function placeIn(lines, child) {
  for (const [line, groups] of lines.entries())
    for (const group of groups) if (group.includes(child)) return { line, group };
  return undefined;
}

function folderProblems(paths, { MOST_FILES, LARGE_FOLDERS }) {
  const counts = new Map();
  for (const folder of paths.map((path) => posix.dirname(path)))
    counts.set(folder, (counts.get(folder) ?? 0) + 1);
  return [...counts]
    .filter(([folder, count]) => count > MOST_FILES && !LARGE_FOLDERS.includes(folder))
    .map(([folder, count]) => ({
      at: folder,
      message: `has ${count} files, and ${MOST_FILES} is the most. Group files of one concern into a folder, or merge small files into the one that imports them.`,
    }));
}

function typeProblems(modules) {
  const places = new Map();
  for (const { path, types } of modules)
    for (const { name, line } of types) {
      const known = places.get(name) ?? new Map();
      // An interface may be declared in two parts in one file.
      if (!known.has(path)) known.set(path, `${path}:${line}`);
      places.set(name, known);
    }
  return [...places]
    .filter(([, known]) => known.size > 1)
    .map(([name, known]) => {
      const [at, ...others] = known.values();
      const message = `exports a type named ${name}, and so does ${others.join(", ")}. Rename one after what sets it apart, or share one declaration.`;
      return { at, message };
    });
}

/** All files below src/, by paths as the rules write them. */
function readSources(root) {
  const entries = readdirSync(join(root, "src"), { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));
  return Object.fromEntries(
    paths.toSorted().map((path) => [relative(root, path).replaceAll("\\", "/"), readFileSync(path, "utf8")]),
  );
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const root = dirname(dirname(fileURLToPath(import.meta.url)));
  const problems = structureProblems(readSources(root));
  for (const problem of problems) console.error(problem);
  if (problems.length > 0) console.error(`\n${problems.length} problems of structure.`);
  process.exitCode = problems.length === 0 ? 0 : 1;
}
