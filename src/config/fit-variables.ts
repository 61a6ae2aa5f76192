/** What a variable puts in is text; where a number, true or false is expected, the text of one is taken for it. Pure. */
import { issuesOf } from "../scheduler/definition/check-value.js";
import {
  find,
  isInterpolated,
  type Located,
  type LocatedScalar,
  type Path,
  plainValue,
} from "./yaml/located-value.js";
import type { Schema } from "../scheduler/definition/schema/fields.js";

export function fitVariables(schema: Schema, tree: Located): Located {
  if (!isInterpolated(tree)) return tree;
  let fitted = tree;
  for (const issue of issuesOf(schema, plainValue(tree))) {
    const type: unknown = issue.code === "custom" ? issue.params?.["type"] : undefined;
    const path = issue.path.map((step) => (typeof step === "number" ? step : String(step)));
    const { node } = find(fitted, path);
    if (node?.kind !== "scalar" || node.written === undefined || typeof node.value !== "string") continue;
    const value = readAs(type, node.value);
    if (value !== undefined) fitted = replaced(fitted, path, { ...node, value });
  }
  return fitted;
}

function readAs(type: unknown, text: string): number | boolean | undefined {
  if (type === "boolean") return text === "true" ? true : text === "false" ? false : undefined;
  if (type !== "number" && type !== "integer") return undefined;
  return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : undefined;
}

function replaced(node: Located, path: Path, leaf: LocatedScalar): Located {
  const [step, ...rest] = path;
  if (step === undefined) return leaf;
  if (node.kind === "list")
    return {
      ...node,
      items: node.items.map((item, at) => (at === step ? replaced(item, rest, leaf) : item)),
    };
  const entry = node.kind === "map" ? node.entries.get(String(step)) : undefined;
  if (node.kind !== "map" || entry === undefined) return node;
  const value = replaced(entry.value, rest, leaf);
  return { ...node, entries: new Map([...node.entries, [String(step), { ...entry, value }]]) };
}
