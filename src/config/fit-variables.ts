/** Converts the text of variables to a number or a boolean where the schema expects one. Pure. */
import { issuesOf } from "../scheduler/definition/check-value.js";
import {
  find,
  isInterpolated,
  type LocatedValue,
  type LocatedScalar,
  plainValue,
} from "./yaml/located-value.js";
import type { Path } from "../scheduler/definition/fault.js";
import type { Schema } from "../scheduler/definition/schema/fields.js";

export function fitVariables(schema: Schema, tree: LocatedValue): LocatedValue {
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

function replaced(node: LocatedValue, path: Path, leaf: LocatedScalar): LocatedValue {
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
