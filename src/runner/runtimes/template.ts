/** Fills `{prompt}`, `{job_id}`, `{work_item.title}` and the like into a text. Unknown names stay as they are. */
import { type Fields, isFields } from "../../fields.js";
import type { RuntimeJob } from "../runtime.js";

/** The values by name; `work_item` is the whole item. */
export function templateValues(job: RuntimeJob): Readonly<Record<string, unknown>> {
  const { prompt, jobId, agent, schedule, attempt, workItem, data } = job;
  const { slot, key } = slotValues(job);
  return {
    prompt,
    job_id: jobId,
    agent: agent.name,
    schedule: schedule ?? null,
    slot,
    key,
    attempt,
    work_item: workItem ?? null,
    data: data ?? null,
  };
}

/** The values that may stand outside a body: in arguments, headers and addresses. */
export function slotValues({ slot, key }: RuntimeJob): {
  readonly slot: string | null;
  readonly key: string | null;
} {
  return { slot: slot?.toISOString() ?? null, key };
}

/** In one pass: names inside a filled-in value stay as they are. */
export function fillTemplate(
  text: string,
  values: Readonly<Record<string, unknown>>,
  escape: (value: string) => string = (value) => value,
): string {
  return text.replaceAll(/\{([a-z_]+)((?:\.\w+)*)\}/g, (whole: string, name: string, path: string) => {
    if (!Object.hasOwn(values, name)) return whole;
    let value = values[name];
    for (const key of path.split(".").slice(1))
      value = isFields(value) && Object.hasOwn(value, key) ? value[key] : undefined;
    return escape(shown(value));
  });
}

/**
 * Fills what `{{path}}` names in the data into a prompt, in one pass: `{{issue.title}}`, `{{items.0}}`. `{{data}}` and
 * `{{payload}}` are the data as a whole, unless the data has such a key. Unknown names stay as they are.
 */
export function fillPrompt(prompt: string, data: unknown): string {
  const whole: Fields = { data, payload: data };
  return prompt.replaceAll(/\{\{\s*([\w-]+(?:\.[\w-]+)*)\s*\}\}/g, (found: string, path: string) => {
    const keys = path.split(".");
    const [name = ""] = keys;
    if (hasOwn(data, name)) return shown(valueAt(data, keys));
    return Object.hasOwn(whole, name) ? shown(valueAt(whole, keys)) : found;
  });
}

function valueAt(value: unknown, [key, ...keys]: readonly string[]): unknown {
  if (key === undefined) return value;
  return hasOwn(value, key) ? valueAt(Reflect.get(value, key), keys) : undefined;
}

function hasOwn(value: unknown, key: string): value is object {
  return typeof value === "object" && value !== null && Object.hasOwn(value, key);
}

/** The text as it stands between the quotes of a JSON string. */
export function escapeJson(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

/** A copy of a JSON value with its texts filled in. */
export function fillJson(value: unknown, values: Readonly<Record<string, unknown>>): unknown {
  if (typeof value === "string") return fillTemplate(value, values);
  if (Array.isArray(value)) return value.map((part: unknown) => fillJson(part, values));
  if (!isFields(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, fillJson(part, values)]));
}

function shown(value: unknown): string {
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}
