/**
 * Reads the fields of a work item in a file or in a list: checks the known keys, and keeps unknown keys as metadata.
 * Pure: each source gets the fields from its own place.
 */
import { quote } from "../errors.js";
import { isoTimeMs } from "../iso-time.js";
import { PRIORITIES } from "./work-order.js";
import type { WorkItem } from "./work-source.js";

/** The part of a work item that its fields contain; the source adds the rest. */
export interface ItemFields extends Pick<WorkItem, "labels" | "metadata" | "priority" | "url"> {
  readonly title: string | undefined;
  readonly description: string;
  readonly createdAt: Date | undefined;
}

/** Why the fields are invalid: a sentence without its subject. */
export interface FieldsProblem {
  readonly problem: string;
  /** Whether the next read may succeed although the file stays the same. */
  readonly isPassing?: boolean | undefined;
}

/** A key without a value counts as missing. */
export function readFields(fields: Readonly<Record<string, unknown>>): ItemFields | FieldsProblem {
  const { title, description, priority = "medium", labels, url, created_at, ...rest } = withoutNulls(fields);
  const known = PRIORITIES.find((one) => one === priority);
  const createdMs = isoTimeMs(created_at);
  const texts = labels === undefined ? [] : textsOf(labels);
  const metadata = jsonOf(rest);
  if (!isText(title) || title?.trim() === "") return wrong("title", "a text", title);
  if (!isText(description)) return wrong("description", "a text", description);
  if (!isText(url)) return wrong("url", "a text", url);
  if (known === undefined) return wrong("priority", PRIORITIES.join(", "), priority);
  if (texts === undefined) return wrong("labels", "a list of texts", labels);
  if (created_at !== undefined && createdMs === undefined)
    return wrong("created_at", 'a time such as "2026-03-01T09:00:00Z"', created_at);
  if (metadata === undefined) return { problem: "has values that JSON cannot represent" };
  return {
    title,
    description: description ?? "",
    priority: known,
    labels: texts,
    url,
    createdAt: createdMs === undefined ? undefined : new Date(createdMs),
    metadata,
  };
}

function wrong(key: string, expected: string, got: unknown): FieldsProblem {
  return { problem: `has the ${key} ${quote(got)}, expected ${expected}` };
}

function isText(value: unknown): value is string | undefined {
  return value === undefined || typeof value === "string";
}

function textsOf(value: unknown): readonly string[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const texts = value.filter((one) => typeof one === "string");
  return texts.length === value.length ? texts : undefined;
}

function withoutNulls(fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value != null));
}

/** A copy as JSON represents it; `undefined` for values without a JSON form. */
function jsonOf(value: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> | undefined {
  try {
    // JSON.parse returns `any`: an object went in, so an object comes out.
    const copy: Readonly<Record<string, unknown>> = JSON.parse(JSON.stringify(value));
    return copy;
  } catch {
    return undefined;
  }
}
