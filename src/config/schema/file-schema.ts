/**
 * The keys of a configuration file: of the fleet, its defaults and its agents. The checks and the JSON Schema both use them.
 * Adds to the definition of an agent what only a file can say.
 */
import { jobLimitsSchema } from "./job-limits.js";
import { EXPECTED_DATABASE, isDatabaseUrl } from "../database-url.js";
import { durationMs } from "../../duration.js";
import type { HostKeys } from "../../scheduler/definition/host-keys.js";
import {
  AGENT_DESCRIPTION,
  commonKeys,
  EXPECTED_AGENT,
  hostKeys,
  nameSchema,
  schedulesSchema,
  schemasByHost,
} from "../../scheduler/definition/schema/agent-schema.js";
import {
  checked,
  fitting,
  type KeySchemas,
  list,
  map,
  optional,
  type Schema,
  text,
  wholeNumber,
} from "../../scheduler/definition/schema/fields.js";
import { envSchema, keysBesideRuntime } from "../../scheduler/definition/schema/runtime-schema.js";
import { onFailureSchema, timeoutSchema } from "../../scheduler/definition/schema/schedule-schema.js";
import { workSourceSchema } from "../../scheduler/definition/schema/work-source-schema.js";
import { timeZone } from "../../scheduler/timing/time-zone.js";

export interface FileSchemas {
  /** The keys of the file; the contents of `defaults` and `agents` are checked by the other two. */
  readonly fleet: Schema;
  readonly defaults: Schema;
  readonly agent: Schema;
}

export function fleetKeys(): KeySchemas {
  return {
    version: optional(
      fitting("1, the only version that this Rota reads", (given) => given === 1, {
        const: 1,
        default: 1,
        description: "The version of this format.",
      }),
    ),
    state_dir: optional(
      text("The directory of the state and the jobs, relative to this file. Default: .rota.", "a directory"),
    ),
    database: optional(
      fitting(
        EXPECTED_DATABASE,
        (given) => typeof given === "string" && (given.trim() === "" || isDatabaseUrl(given.trim())),
        {
          type: "string",
          writeOnly: true,
          description:
            "The PostgreSQL database of the state and the jobs, instead of a directory. Empty: none.",
          examples: ["${DATABASE_URL}", "postgres://rota@db.example:5432/app"],
        },
      ),
    ),
    database_schema: optional(text("The schema in that database. Default: rota.", "a name")),
    jobs: optional(jobLimitsSchema()),
    timezone: optional(
      checked('an IANA name such as "Europe/London"', (given) => void timeZone(zoneName(given)), {
        type: "string",
        description: "The time zone of cron schedules without one. Default: the system's.",
        examples: ["Europe/London", "UTC"],
      }),
    ),
    jitter: optional(
      fitting("0 to 10 percent", (given) => typeof given === "number" && given >= 0 && given <= 10, {
        type: "number",
        minimum: 0,
        maximum: 10,
        default: 0,
        description: "The jitter of intervals without one, in percent.",
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

/** The milliseconds of a `check_interval`; `undefined` for an invalid one. */
export function checkIntervalMs(given: unknown): number | undefined {
  const ms = typeof given === "string" ? durationMs(given) : given;
  return typeof ms === "number" && ms >= 1 && ms < Infinity ? ms : undefined;
}

/** Avoids that `Intl` converts a number or a list to text. */
function zoneName(given: unknown): string {
  return typeof given === "string" ? given : "";
}

/** The keys of an agent that only a file has: a configuration moves them into the runtime and the schedules. */
export function fileKeys(host: HostKeys, isWhole: boolean): KeySchemas {
  return {
    env: envSchema(),
    timeout: timeoutSchema("an agent", true),
    work_source: workSourceSchema(host.workSourceTypes ?? [], "none", isWhole),
    on_failure: onFailureSchema(
      "What a failed job does to the next run of an interval or cron schedule without an `on_failure`.",
    ),
  };
}

/** Each agent adds the keys that the defaults leave out. */
export function defaultsKeys(host: HostKeys): KeySchemas {
  return { ...hostKeys(host), ...keysBesideRuntime(), ...commonKeys(host, false), ...fileKeys(host, false) };
}

/** The keys that the file of an agent may have at its top. */
export function agentFileKeys(host: HostKeys): readonly string[] {
  const keys = {
    ...hostKeys(host),
    ...keysBesideRuntime(),
    ...commonKeys(host, true),
    ...fileKeys(host, true),
  };
  return ["name", "schedules", "path", ...Object.keys(keys)];
}

export const fileSchemas: (host: HostKeys) => FileSchemas = schemasByHost((host) => ({
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
    {
      name: nameSchema(),
      ...hostKeys(host),
      ...commonKeys(host, true),
      ...fileKeys(host, true),
      schedules: schedulesSchema(host, true),
    },
    EXPECTED_AGENT,
    { description: AGENT_DESCRIPTION },
  ),
}));
