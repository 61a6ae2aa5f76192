/**
 * What people write about a work item, in a file or in a list: the keys that have a meaning, checked, and all others as
 * metadata. Pure: where the fields come from is each source's business.
 */
import { quote } from "../errors.js";
import { isoTimeMs } from "../iso-time.js";
import { PRIORITIES } from "./work-order.js";
import type { WorkItem } from "./work-source.js";

/** What fields can say; the rest is known by the source. */
export interface ItemFields extends Pick<WorkItem, "labels" | "metadata" | "priority" | "url"> {
  readonly title: string | undefined;
  readonly description: string;
  readonly createdAt: Date | undefined;
}

/** Fields that mean nothing, and why: a sentence without its subject. */
export interface FieldsProblem {
  readonly problem: string;
  /** It may be gone when looked at again, although nothing was changed. */
  readonly isPassing?: boolean | undefined;
}

/** What the fields say, or what is wrong with them. A key without a value is as good as missing. */
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
  if (metadata === undefined) return { problem: "has values that JSON cannot hold" };
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
  return { problem: `has the ${key} ${quote(got)}, where ${expected} is expected` };
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

/** The same as JSON would keep it; `undefined` for what JSON cannot say. */
function jsonOf(value: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> | undefined {
  try {
    // Its answer is `any`: an object went in, so an object comes out.
    const copy: Readonly<Record<string, unknown>> = JSON.parse(JSON.stringify(value));
    return copy;
  } catch {
    return undefined;
  }
}
