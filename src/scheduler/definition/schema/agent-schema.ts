/**
 * The keys of an agent, as a program gives it to a scheduler and, with a few keys more, as a file has it. Schemas are made
 * when a check first needs them, so that importing stays cheap.
 */
import { isName, LONGEST_NAME } from "../../../state/validate-state.js";
import type { HostKeys } from "../host-keys.js";
import { fitting, type KeySchemas, map, mapOf, optional, type Schema, text, wholeNumber } from "./fields.js";
import { runtimeSchema } from "./runtime-schema.js";
import { retriesSchema, scheduleSchema, timeoutSchema } from "./schedule-schema.js";
import { workSourceSchema } from "./work-source-schema.js";

export const AGENT_DESCRIPTION = "An agent: a named worker, when it runs, and how.";
export const EXPECTED_AGENT = "an agent such as { name: writer, schedules: { … } }";

/** The keys that an agent and the defaults of a file both have; in a part (`isWhole: false`) any key may be missing. */
export function commonKeys(host: HostKeys, isWhole: boolean): KeySchemas {
  return {
    description: optional(text("What the agent is for.")),
    instances: optional(
      map(
        {
          max_concurrent: optional(
            wholeNumber("How many jobs of the agent may run at a time, over all its schedules.", 1, {
              default: 1,
            }),
          ),
        },
        "a map such as { max_concurrent: 2 }",
        { description: "How many jobs of the agent may run at a time." },
      ),
    ),
    retries: retriesSchema("Of the schedules without `retries`. Default: 0."),
    runtime: optional(runtimeSchema(host.runtimeTypes ?? [], isWhole)),
    data: optional(fitting("a value", () => true, { description: "Any value. Rota does not read it." })),
  };
}

export function nameSchema(): Schema {
  return fitting(`a text of 1 to ${LONGEST_NAME} characters`, isName, {
    type: "string",
    minLength: 1,
    maxLength: LONGEST_NAME,
    description: "The agent's name, unique in the fleet.",
  });
}

/** `inFile`: with the keys that only the schedules of a file have. */
export function schedulesSchema(host: HostKeys, inFile: boolean): Schema {
  const source =
    host.acceptsAnyWorkSource === true
      ? optional(fitting("a value", () => true, { description: "Read by the host." }))
      : workSourceSchema(host.workSourceTypes ?? [], inFile ? "the agent's" : "none", true);
  return optional(
    mapOf(scheduleSchema(source, inFile), "schedules by name", "The agent's schedules, by name.", {
      propertyNames: { minLength: 1, maxLength: LONGEST_NAME },
    }),
  );
}

/** The keys that the host reads: any value is accepted. */
export function hostKeys({ agentKeys = [] }: HostKeys): KeySchemas {
  const anything = { description: "Read by the host." };
  return Object.fromEntries(
    agentKeys.map((key) => [key, optional(fitting("a value", () => true, anything))]),
  );
}

/** Makes the schemas of a host, and caches them for a host that adds no types or keys. */
export function schemasByHost<Schemas>(make: (host: HostKeys) => Schemas): (host: HostKeys) => Schemas {
  let builtIn: Schemas | undefined;
  return (host) => {
    const { runtimeTypes = [], workSourceTypes = [], agentKeys = [], acceptsAnyWorkSource = false } = host;
    if (runtimeTypes.length + workSourceTypes.length + agentKeys.length > 0 || acceptsAnyWorkSource)
      return make(host);
    builtIn ??= make({});
    return builtIn;
  };
}

/** An agent as a program gives it to a scheduler. */
export const agentSchema: (host: HostKeys) => Schema = schemasByHost((host) =>
  map(
    {
      name: nameSchema(),
      ...hostKeys(host),
      ...commonKeys(host, true),
      timeout: timeoutSchema("an agent", false),
      run: optional(fitting("a function", isFunction, { description: "Runs a job in this process." })),
      schedules: schedulesSchema(host, false),
    },
    EXPECTED_AGENT,
    { description: AGENT_DESCRIPTION },
  ),
);

function isFunction(given: unknown): boolean {
  return typeof given === "function";
}
