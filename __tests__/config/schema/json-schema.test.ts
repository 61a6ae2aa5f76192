/** The JSON Schema for editors: it is up to date, accepts valid configurations and rejects invalid ones. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Ajv } from "ajv";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { parseConfig } from "../../../src/config/parse-config.js";
import { configJsonSchema } from "../../../src/config/schema/json-schema.js";
import { isFields } from "../../../src/fields.js";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const shipped: unknown = JSON.parse(readFileSync(join(root, "rota.schema.json"), "utf8"));
const validate = new Ajv({
  allErrors: true,
  allowUnionTypes: true,
  strictTypes: false,
  strictRequired: false,
}).compile(shipped as object);

const definitions = (shipped as { definitions: Record<string, unknown> }).definitions;

function read(name: string): string {
  return readFileSync(new URL(`../fixtures/${name}`, import.meta.url), "utf8");
}

/** The YAML blocks of a page that are complete configurations. */
function configurationsIn(page: string): readonly string[] {
  const blocks = readFileSync(join(root, page), "utf8").matchAll(/^```yaml\n(.*?)^```$/gms);
  return Array.from(blocks, ([, text = ""]) => text).filter((text) => /^agents:\n +- /m.test(text));
}

/** The keys of a schema without a description. */
function undescribed(schema: unknown, path: string): readonly string[] {
  if (Array.isArray(schema)) return schema.flatMap((one, index) => undescribed(one, `${path}[${index}]`));
  if (!isFields(schema)) return [];
  const keys = isFields(schema["properties"]) ? Object.entries(schema["properties"]) : [];
  const silent = keys
    .filter(([, one]) => !isFields(one) || !hasDescription(one))
    .map(([key]) => `${path}.${key}`);
  return [...silent, ...Object.entries(schema).flatMap(([key, one]) => undescribed(one, `${path}.${key}`))];
}

function hasDescription(schema: Readonly<Record<string, unknown>>): boolean {
  if (typeof schema["description"] === "string") return true;
  const [name = ""] = /[^/]+$/.exec(String(schema["$ref"])) ?? [];
  const definition = definitions[name];
  if (isFields(definition)) return hasDescription(definition);
  const options = schema["anyOf"];
  return Array.isArray(options) && options.some((one) => isFields(one) && hasDescription(one));
}

describe("rota.schema.json", () => {
  it("is up to date; otherwise run `npm run schema`", () => {
    expect(shipped).toEqual(JSON.parse(JSON.stringify(configJsonSchema())));
  });

  it("describes every key", () => {
    expect(undescribed(shipped, "")).toEqual([]);
  });

  it("accepts a configuration with every key, as parseConfig does", () => {
    const text = read("every-key.yaml");
    expect(parseConfig(text, { env: {} }).agents).toHaveLength(7);
    validate(parse(text));
    expect(validate.errors).toBeNull();
  });

  it("accepts agents in files, with some keys of their schedules", () => {
    validate({ agents: [{ path: "a.yaml" }, { path: "b.yaml", schedules: { s: { interval: "5m" } } }] });
    expect(validate.errors).toBeNull();
  });

  it("accepts variables where numbers and durations are expected", () => {
    const schedule = { type: "interval", interval: "${EVERY}", jitter: "${J}", on_failure: "${F:-pause}" };
    validate({
      agents: [{ name: "a", instances: { max_concurrent: "${MAX:-2}" }, schedules: { s: schedule } }],
    });
    expect(validate.errors).toBeNull();
  });

  it("rejects the configuration with twenty mistakes, and finds most of them", () => {
    expect(validate(parse(read("twenty-mistakes.yaml")))).toBe(false);
    const places = new Set(validate.errors?.map(({ instancePath }) => instancePath));
    expect(places).toContain("/version");
    expect(places).toContain("/defaults/instances/max_concurrent");
    expect(places).toContain("/agents/0/schedules/news/interval");
    expect(places).toContain("/agents/1/command");
  });

  it.each([
    ["an unknown key", { agents: [], jiter: 5 }],
    ["no agents", { version: 1 }],
    ["an agent without a name", { agents: [{}] }],
    ["an unknown type of schedule", { agents: [{ name: "a", schedules: { s: { type: "intervall" } } }] }],
    ["an interval that is missing", { agents: [{ name: "a", schedules: { s: { type: "interval" } } }] }],
    ["an expression that is missing", { agents: [{ name: "a", schedules: { s: { type: "cron" } } }] }],
    ["an unknown runtime", { agents: [{ name: "a", runtime: "comand" }] }],
  ])("rejects %s", (_, value) => {
    expect(validate(value)).toBe(false);
  });
});

describe("the configurations in the documentation", () => {
  const pages = readdirSync(join(root, "docs")).map((name) => `docs/${name}`);
  const texts = pages.flatMap((page) => configurationsIn(page).map((text): [string, string] => [page, text]));

  it("exist", () => {
    expect(texts.map(([page]) => page)).toContain("docs/configuration.md");
  });

  it.each(texts)("of %s match the schema", (_, text) => {
    validate(parse(text));
    expect(validate.errors).toBeNull();
  });
});
