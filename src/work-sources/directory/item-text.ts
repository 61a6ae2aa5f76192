/** Parses the text of an item's file: Markdown with or without front matter, YAML, or JSON. Pure. */
import { isFields } from "../../fields.js";
import { extname } from "node:path";
import { parseDocument } from "yaml";
import { messageOf } from "../../errors.js";
import { type FieldsProblem, type ItemFields, readFields } from "../item-fields.js";
import { formatOf } from "./claim-name.js";

export interface WrittenItem extends ItemFields {
  readonly title: string;
}

/** The text between `---` lines at the very beginning, and the text after them. */
const FRONT_MATTER = /^---[ \t]*\r?\n(?:(.*?)\r?\n)?---[ \t]*(?:\r?\n(.*))?$/s;
const HEADING = /^ {0,3}#{1,6}[ \t]+(.*?)[ \t]*#*[ \t]*$/;
const FENCE = /^ {0,3}(?:```|~~~)/;

/** The item in a file of the name, or why the file is invalid. */
export function readItemText(name: string, text: string): WrittenItem | FieldsProblem {
  if (text.trim() === "") return { problem: "is empty" };
  try {
    const { fields, body } = formatOf(name) === "markdown" ? partsOf(text) : { fields: text, body: "" };
    const values = formatOf(name) === "json" ? parseJson(fields) : parseYaml(fields);
    if (!isFields(values)) return { problem: "is not a map of keys and values" };
    const item = readFields(values);
    if ("problem" in item) return item;
    const title = item.title ?? headingOf(body) ?? name.slice(0, name.length - extname(name).length);
    const description = [item.description, body].filter((part) => part.trim() !== "").join("\n\n");
    return { ...item, title, description };
  } catch (error) {
    return { problem: `cannot be parsed: ${messageOf(error)}` };
  }
}

function partsOf(text: string): { readonly fields: string; readonly body: string } {
  const parts = FRONT_MATTER.exec(text);
  if (parts === null) return { fields: "", body: text.trim() };
  const [, fields = "", body = ""] = parts;
  return { fields, body: body.trim() };
}

function parseJson(text: string): unknown {
  return JSON.parse(text);
}

/** An empty text is an empty map. */
function parseYaml(text: string): unknown {
  const document = parseDocument(text, { logLevel: "silent" });
  const [error] = document.errors;
  if (error !== undefined) throw error;
  const value: unknown = document.toJS();
  return value ?? {};
}

/** The first heading outside of fenced code. */
function headingOf(markdown: string): string | undefined {
  let isFenced = false;
  for (const line of markdown.split(/\r?\n/)) {
    if (FENCE.test(line)) isFenced = !isFenced;
    const [, heading = ""] = isFenced ? [] : (HEADING.exec(line) ?? []);
    if (heading !== "") return heading;
  }
  return undefined;
}
