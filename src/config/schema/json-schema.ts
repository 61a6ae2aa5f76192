/**
 * The JSON Schema of a configuration file, for editors; draft 7, because most editors support it. It is a little more
 * lenient than the checks, because the keys that an agent leaves out may come from the defaults or from its file. Pure.
 */
import * as z from "zod/mini";
import { type Fields, isFields } from "../../fields.js";
import {
  AGENT_DESCRIPTION,
  commonKeys,
  nameSchema,
  schedulesSchema,
} from "../../scheduler/definition/schema/agent-schema.js";
import {
  allOptional,
  descriptions,
  map,
  mapOf,
  optional,
  type Schema,
  text,
} from "../../scheduler/definition/schema/fields.js";
import { keysBesideRuntime, RUNTIMES } from "../../scheduler/definition/schema/runtime-schema.js";
import { schedulePartsSchema } from "../../scheduler/definition/schema/schedule-schema.js";
import { workSourceSchema } from "../../scheduler/definition/schema/work-source-schema.js";
import { defaultsKeys, fileKeys, fleetKeys } from "./file-schema.js";
import { hoisted } from "./hoist.js";

const TITLE = "Rota configuration";

export function configJsonSchema(): Fields {
  const fleet = jsonOf(map(fleetKeys(), "", { description: "A fleet of agents, in rota.yaml." }));
  const defaults = jsonOf(map(defaultsKeys({}), "", { description: "Merged into every agent." }));
  const agents = {
    type: "array",
    description: "The agents: each is a map, or the path of the file that describes it.",
    items: {
      if: { required: ["path"] },
      // eslint-disable-next-line unicorn/no-thenable -- a keyword, as `if` and `else`
      then: { $ref: "#/definitions/reference" },
      else: { $ref: "#/definitions/agent" },
    },
  };
  return hoisted({
    $schema: "http://json-schema.org/draft-07/schema#",
    title: TITLE,
    ...fleet,
    properties: { ...propertiesOf(fleet), defaults: withRuntimeName(defaults), agents },
    required: ["agents"],
    patternProperties: { "^x-": { description: "Ignored; a place for anchors." } },
    definitions: {
      agent: agentSchema({ name: nameSchema(), schedules: schedulesSchema({}, true) }),
      reference: agentSchema({
        path: text("The file that describes the agent, relative to this file.", "a path"),
        name: optional(nameSchema()),
        schedules: optional(
          mapOf(
            schedulePartsSchema(workSourceSchema([], "the agent's", false)),
            "",
            "Schedules that are merged into the schedules of the file.",
          ),
        ),
      }),
    },
  });
}

function agentSchema(own: Readonly<Record<string, Schema>>): Fields {
  const { name, ...others } = own;
  const shape = {
    ...(name === undefined ? {} : { name }),
    ...allOptional(commonKeys({}, false)),
    ...keysBesideRuntime(),
    ...fileKeys({}, false),
    ...others,
  };
  return withRuntimeName(jsonOf(map(shape, "", { description: AGENT_DESCRIPTION })));
}

/** Lets a runtime be the name of its type. */
function withRuntimeName(schema: Fields): Fields {
  const properties = propertiesOf(schema);
  const { description, ...runtime } = fieldsAt(properties, "runtime");
  const name = { type: "string", enum: Object.keys(RUNTIMES) };
  return { ...schema, properties: { ...properties, runtime: { description, anyOf: [name, runtime] } } };
}

function jsonOf(schema: Schema): Fields {
  const { $schema: _, ...json } = z.toJSONSchema(schema, {
    metadata: descriptions,
    io: "input",
    target: "draft-7",
  });
  const open = withVariables(json);
  return isFields(open) ? open : {};
}

/** Accepts a variable where a number, a boolean, a choice or a pattern is expected. */
function withVariables(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withVariables);
  if (!isFields(schema)) return schema;
  const { description, default: byDefault, examples, ...rest } = schema;
  const type = rest["type"];
  const isStrict =
    type === "number" || type === "integer" || type === "boolean" || "pattern" in rest || "enum" in rest;
  if (!isStrict || "const" in rest || "properties" in rest)
    return Object.fromEntries(
      Object.entries(schema).map(([key, value]) => [key, PLAIN.has(key) ? value : withVariables(value)]),
    );
  const words = { description, default: byDefault, examples };
  return { ...defined(words), anyOf: [rest, { type: "string", pattern: "\\$\\{" }] };
}

/** Keywords whose values are not schemas. */
const PLAIN = new Set(["default", "description", "examples", "required", "type"]);

function defined(words: Fields): Fields {
  return Object.fromEntries(Object.entries(words).filter(([, value]) => value !== undefined));
}

function propertiesOf(schema: Fields): Fields {
  return fieldsAt(schema, "properties");
}

function fieldsAt(fields: Fields, key: string): Fields {
  const value = fields[key];
  return isFields(value) ? value : {};
}
