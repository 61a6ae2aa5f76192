/** Shortens a JSON Schema: large parts that occur more than once become definitions. Pure. */
import { type Fields, isFields } from "../../fields.js";

/** In characters of JSON. Shorter parts stay, because they are easier to read in place. */
const SHORTEST = 400;
/** Keywords whose value maps names to schemas, and is not a schema itself. */
const HOLDERS = new Set(["definitions", "patternProperties", "properties"]);
/** A definition is named after the nearest property, not after a keyword. */
const KEYWORDS = new Set([...HOLDERS, "additionalProperties", "anyOf", "items", "oneOf"]);

export function hoisted(schema: Fields): Fields {
  const hoist = new Hoist(timesOf(schema));
  const { definitions, ...placed } = hoist.parts(schema, "schema");
  return { ...placed, definitions: { ...(isFields(definitions) ? definitions : {}), ...hoist.definitions } };
}

/** How often each large part occurs. The parts of a repeated part are counted once. */
function timesOf(schema: Fields): ReadonlyMap<string, number> {
  const times = new Map<string, number>();
  const count = (node: unknown, isHolder: boolean): void => {
    if (Array.isArray(node)) for (const one of node) count(one, false);
    if (!isFields(node)) return;
    const text = JSON.stringify(node);
    const before = times.get(text) ?? 0;
    if (!isHolder && text.length >= SHORTEST) times.set(text, before + 1);
    if (before === 0)
      for (const [key, one] of Object.entries(node)) count(one, !isHolder && HOLDERS.has(key));
  };
  count(schema, false);
  return times;
}

class Hoist {
  readonly definitions: Record<string, unknown> = {};
  readonly #times: ReadonlyMap<string, number>;
  readonly #names = new Map<string, string>();

  constructor(times: ReadonlyMap<string, number>) {
    this.#times = times;
  }

  parts(node: Fields, name: string): Fields {
    return Object.fromEntries(
      Object.entries(node).map(([key, one]) => [key, this.#part(one, KEYWORDS.has(key) ? name : key)]),
    );
  }

  #part(node: unknown, name: string): unknown {
    if (Array.isArray(node)) return node.map((one) => this.#part(one, name));
    if (!isFields(node)) return node;
    const text = JSON.stringify(node);
    if ((this.#times.get(text) ?? 0) < 2) return this.parts(node, name);
    const known = this.#names.get(text);
    if (known !== undefined) return { $ref: `#/definitions/${known}` };
    const count = [...this.#names.values()].filter((one) => one.startsWith(name)).length;
    const own = count === 0 ? name : `${name}_${count + 1}`;
    this.#names.set(text, own);
    this.definitions[own] = this.parts(node, name);
    return { $ref: `#/definitions/${own}` };
  }
}
