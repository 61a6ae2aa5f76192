/** What the text of an item's file says: Markdown with or without front matter, YAML, or JSON. Pure. */
import { isFields } from "../../fields.js";
import { extname } from "node:path";
import { parseDocument } from "yaml";
import { messageOf } from "../../errors.js";
import { type FieldsProblem, type ItemFields, readFields } from "../item-fields.js";
import { formatOf } from "./claim-name.js";

export interface WrittenItem extends ItemFields {
  readonly title: string;
}

/** The whole text between `---` lines at the very beginning, and what follows. */
const FRONT_MATTER = /^---[ \t]*\r?\n(?:(.*?)\r?\n)?---[ \t]*(?:\r?\n(.*))?$/s;
const HEADING = /^ {0,3}#{1,6}[ \t]+(.*?)[ \t]*#*[ \t]*$/;
const FENCE = /^ {0,3}(?:```|~~~)/;

/** What a file of this name says, or what is wrong with it. */
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
    return { problem: `cannot be understood: ${messageOf(error)}` };
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

/** Nothing at all is a map without keys. */
function parseYaml(text: string): unknown {
  const document = parseDocument(text, { logLevel: "silent" });
  const [error] = document.errors;
  if (error !== undefined) throw error;
  const value: unknown = document.toJS();
  return value ?? {};
}

/** The first heading; a `#` in a fenced block of code is none. */
function headingOf(markdown: string): string | undefined {
  let isFenced = false;
  for (const line of markdown.split(/\r?\n/)) {
    if (FENCE.test(line)) isFenced = !isFenced;
    const [, heading = ""] = isFenced ? [] : (HEADING.exec(line) ?? []);
    if (heading !== "") return heading;
  }
  return undefined;
}
