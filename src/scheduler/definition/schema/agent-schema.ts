/**
 * The definition of a configuration: which keys the fleet, its defaults and its agents have. Checks and the JSON Schema
 * both come from it. Made when first needed, because importing must cost nothing.
 */
import { isName, LONGEST_NAME } from "../../../state/validate-state.js";
import { timeZone } from "../../timing/time-zone.js";
import { durationMs } from "../../../duration.js";
import { checked, list, map, mapOf, optional, type Schema, text, fitting, wholeNumber } from "./fields.js";
import { envSchema, keysBesideRuntime, runtimeSchema } from "./runtime-schema.js";
import { onFailureSchema, scheduleSchema, timeoutSchema } from "./schedule-schema.js";
import { workSourceSchema } from "./work-source-schema.js";

/** What a host has beyond what Rota knows. */
export interface HostKeys {
  /** Types of runtimes that the host has registered. */
  readonly runtimeTypes?: readonly string[] | undefined;
  /** Types of work sources that the host has registered. */
  readonly workSourceTypes?: readonly string[] | undefined;
  /** Keys of agents that the host reads itself. */
  readonly agentKeys?: readonly string[] | undefined;
}

type Keys = Readonly<Record<string, Schema>>;

/** The definition of one kind of configuration. */
export interface ConfigSchemas {
  /** The keys of the file, except `defaults` and `agents`. */
  readonly fleet: Schema;
  readonly defaults: Schema;
  readonly agent: Schema;
  /** An agent as the scheduler takes it. */
  readonly plainAgent: Schema;
}

export const agentDescription = "An agent: a named worker, when it runs, and how.";
const EXPECTED_AGENT = "an agent such as { name: writer, schedules: { … } }";

export function fleetKeys(): Keys {
  return {
    version: optional(
      fitting("1, the only version that this Rota reads", (given) => given === 1, {
        const: 1,
        default: 1,
        description: "The version of this format.",
      }),
    ),
    state_dir: optional(
      text("Where state and jobs are kept, relative to this file. Default: .rota.", "a directory"),
    ),
    timezone: optional(
      checked('an IANA name such as "Europe/London"', (given) => void timeZone(zoneName(given)), {
        type: "string",
        description: "The time zone of cron schedules that name none. Default: the system's.",
        examples: ["Europe/London", "UTC"],
      }),
    ),
    jitter: optional(
      fitting("0 to 10 percent", (given) => typeof given === "number" && given >= 0 && given <= 10, {
        type: "number",
        minimum: 0,
        maximum: 10,
        default: 0,
        description: "The jitter of intervals that name none, in percent.",
      }),
    ),
    max_concurrent: optional(
      wholeNumber("How many jobs may run at a time, over all agents. Default: no limit.", 1),
    ),
    check_interval: optional(
      fitting('milliseconds from 1 or text such as "1s"', (given) => checkIntervalMs(given) !== undefined, {
        default: "1s",
        description: "The longest time between two checks.",
        anyOf: [
          { type: "number", minimum: 1 },
          { type: "string", pattern: "^[0-9]+[smhd]$" },
        ],
      }),
    ),
  };
}

/** The milliseconds in a `check_interval`; `undefined` for what is none. */
export function checkIntervalMs(given: unknown): number | undefined {
  const ms = typeof given === "string" ? durationMs(given) : given;
  return typeof ms === "number" && ms >= 1 && ms < Infinity ? ms : undefined;
}

/** `Intl` would take what is no text for text. */
function zoneName(given: unknown): string {
  return typeof given === "string" ? given : "";
}

function instancesKeys(): Keys {
  return {
    instances: optional(
      map(
        {
          max_concurrent: optional(
            wholeNumber("How many jobs the agent may have at a time, over all its schedules.", 1, {
              default: 1,
            }),
          ),
        },
        "a map such as { max_concurrent: 2 }",
        { description: "How many of it there may be." },
      ),
    ),
  };
}

/** What an agent and the defaults both have. */
export function commonKeys(host: HostKeys, isWhole: boolean): Keys {
  return {
    description: optional(text("What it is for.")),
    ...instancesKeys(),
    runtime: optional(runtimeSchema(host.runtimeTypes ?? [], isWhole)),
  };
}

/** What only a file has, or has in another way; it is made part of the runtime and the schedules. */
export function fileKeys(host: HostKeys, isWhole: boolean): Keys {
  return {
    env: envSchema(),
    timeout: timeoutSchema("an agent", true),
    work_source: workSourceSchema(host.workSourceTypes ?? [], "none", isWhole),
    on_failure: onFailureSchema(
      "What a failed job does to the next run of its interval or cron schedule, where that says nothing itself.",
    ),
  };
}

/** Each agent adds what is missing. */
export function defaultsKeys(host: HostKeys): Keys {
  return { ...hostKeys(host), ...keysBesideRuntime(), ...commonKeys(host, false), ...fileKeys(host, false) };
}

export function nameSchema(): Schema {
  return fitting(`a text of 1 to ${LONGEST_NAME} characters`, isName, {
    type: "string",
    minLength: 1,
    maxLength: LONGEST_NAME,
    description: "Its name, which no other agent has.",
  });
}

export function schedulesSchema(host: HostKeys, inFile: boolean): Schema {
  const source = workSourceSchema(host.workSourceTypes ?? [], inFile ? "the agent's" : "none", true);
  return optional(
    mapOf(scheduleSchema(source, inFile), "schedules by name", "Its schedules, by name.", {
      propertyNames: { minLength: 1, maxLength: LONGEST_NAME },
    }),
  );
}

/** Keys of the host, of which nothing is known. */
export function hostKeys({ agentKeys = [] }: HostKeys): Keys {
  const anything = { description: "Read by the host." };
  return Object.fromEntries(
    agentKeys.map((key) => [key, optional(fitting("a value", () => true, anything))]),
  );
}

let builtIn: ConfigSchemas | undefined;

/** Those of a host with nothing of its own are kept. */
export function configSchemas(host: HostKeys): ConfigSchemas {
  const isPlain = [host.runtimeTypes, host.workSourceTypes, host.agentKeys].every(
    (names) => names === undefined || names.length === 0,
  );
  if (!isPlain) return makeSchemas(host);
  builtIn ??= makeSchemas({});
  return builtIn;
}

function isFunction(given: unknown): boolean {
  return typeof given === "function";
}

function makeSchemas(host: HostKeys): ConfigSchemas {
  const common = { ...hostKeys(host), ...commonKeys(host, true) };
  const run = optional(fitting("a function", isFunction, { description: "Runs a job in this process." }));
  return {
    // What is in these two is checked by the others.
    fleet: map(
      {
        ...fleetKeys(),
        defaults: optional(fitting("a map of keys", () => true, { description: "Merged into every agent." })),
        agents: list(
          fitting("an agent", () => true, { description: "An agent." }),
          "a list of agents",
          "The agents.",
        ),
      },
      "a map such as { version: 1, agents: [ … ] }",
      { description: "A fleet of agents." },
    ),
    defaults: map(defaultsKeys(host), "a map of keys", { description: "Merged into every agent." }),
    agent: map(
      { name: nameSchema(), ...common, ...fileKeys(host, true), schedules: schedulesSchema(host, true) },
      EXPECTED_AGENT,
      { description: agentDescription },
    ),
    plainAgent: map(
      {
        name: nameSchema(),
        ...common,
        timeout: timeoutSchema("an agent", false),
        run,
        schedules: schedulesSchema(host, false),
      },
      EXPECTED_AGENT,
      { description: agentDescription },
    ),
  };
}
