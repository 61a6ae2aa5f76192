/** The keys of a schedule, by its type. The scheduler's `validateSchedule` checks their values. */
import { timeoutMs } from "../../../runner/configuration.js";
import { validateRetries } from "../../timing/retries.js";
import { validateSchedule } from "../../timing/schedule.js";
import {
  allOptional,
  checked,
  choice,
  constant,
  type Description,
  type KeySchemas,
  map,
  type MapSchema,
  nullable,
  oneOf,
  optional,
  type Schema,
  fitting,
} from "./fields.js";

/** The smallest valid schedule of each type: a check adds one key to it. */
const LEAST = {
  interval: { type: "interval", interval: "1s" },
  cron: { type: "cron" },
  once: { type: "once", at: "2026-03-01T09:00:00Z" },
} as const;

const DURATION = { type: "string", pattern: "^[0-9]+[smhd]$", examples: ["30s", "5m", "1h", "2d"] };
const ON_FAILURE = ["backoff", "continue", "pause"];

export function timeoutSchema(whose: "an agent" | "a schedule", inFile: boolean): Schema {
  const byDefault = whose === "a schedule" ? "the agent's" : "no limit";
  const schema = checked(
    'milliseconds above 0 or text such as "5m"',
    (given) => void timeoutMs(given, whose),
    {
      description: `How long a job may take: milliseconds, or text such as "5m"; null: no limit. Default: ${byDefault}.`,
      anyOf: [{ type: "number", exclusiveMinimum: 0 }, DURATION],
    },
  );
  return optional(inFile ? nullable(schema) : schema);
}

export function onFailureSchema(description: string): Schema {
  return optional(choice(ON_FAILURE, description, { default: "backoff" }));
}

/** `inFile` adds the keys that only a file has. */
export function scheduleSchema(workSource: Schema, inFile: boolean): Schema {
  const common = { ...commonKeys(workSource, inFile), enabled: enabledSchema() };
  const options: Record<string, MapSchema> = {};
  for (const [type, { description, keys, ...keywords }] of Object.entries(TYPES))
    options[type] = map({ type: constant(type, description), ...keys(), ...common }, "a map of keys", {
      description,
      ...keywords,
    });
  return oneOf(options, "a map with a type", { description: SCHEDULE });
}

/** A part of a schedule, which is merged into the schedule of an agent's file. */
export function schedulePartsSchema(workSource: Schema): Schema {
  const keys: Record<string, Schema> = Object.assign({}, ...Object.values(TYPES).map((type) => type.keys()));
  const type = choice(Object.keys(TYPES), "When it runs.");
  const shape = { type, ...keys, ...commonKeys(workSource, true), enabled: enabledSchema() };
  return map(allOptional(shape), "a map of keys", { description: SCHEDULE });
}

const SCHEDULE = "When a job is due, and what it does.";

function commonKeys(workSource: Schema, inFile: boolean): KeySchemas {
  const prompt = fitting("text", (given) => typeof given === "string", {
    type: "string",
    description: "The instructions for the job.",
  });
  const onInterrupt = choice(
    ["retry", "skip"],
    "What happens to a slot whose process died: it runs again, at most five times in all, or it is given up, so that " +
      "it runs at most once.",
    { default: "retry" },
  );
  return {
    prompt: optional(prompt),
    work_source: workSource,
    timeout: timeoutSchema("a schedule", inFile),
    on_interrupt: optional(onInterrupt),
    retries: retriesSchema("Default: the agent's."),
  };
}

export function retriesSchema(byDefault: string): Schema {
  return optional(
    checked('a whole number from 0, or a map such as { count: 2, delay: "10s" }', validateRetries, {
      description: `How often a failed job is tried again before it counts as a failure. ${byDefault}`,
      anyOf: [
        { type: "integer", minimum: 0 },
        {
          type: "object",
          required: ["count"],
          additionalProperties: false,
          properties: {
            count: { type: "integer", minimum: 0, description: "How many times." },
            delay: { ...DURATION, default: "10s", description: "The wait before the first of these tries." },
            backoff: {
              enum: ["exponential", "constant"],
              default: "exponential",
              description: "Whether each further try waits twice as long, or as long as the first.",
            },
            max_delay: { ...DURATION, default: "10m", description: "The longest wait." },
            on: {
              type: "array",
              minItems: 1,
              items: { enum: ["failed", "timeout"] },
              default: ["failed", "timeout"],
              description: "Which ends of a job are tried again.",
            },
          },
        },
      ],
      examples: [2, { count: 3, delay: "30s" }],
    }),
  );
}

function enabledSchema(): Schema {
  return optional(
    fitting("true or false", (given) => typeof given === "boolean", {
      type: "boolean",
      default: true,
      description: "Whether the schedule exists; false leaves it out.",
    }),
  );
}

interface TypeKeys {
  readonly description: string;
  readonly keys: () => KeySchemas;
  readonly [keyword: string]: unknown;
}

const TYPES: Readonly<Record<string, TypeKeys>> = {
  interval: {
    description: "Runs immediately the first time, then an interval after the end of the last run.",
    keys: () => ({
      interval: timing("interval", "interval", 'text such as "5m"', {
        ...DURATION,
        description: "The time between runs: a positive whole number and s, m, h or d.",
      }),
      anchor: optional(
        choice(["completion", "start"], "What the interval counts from.", { default: "completion" }),
      ),
      jitter: optional(
        timing("interval", "jitter", "0 to 10 percent", {
          type: "number",
          minimum: 0,
          maximum: 10,
          description:
            "At most this percentage of the interval is added at random. Default: the fleet's `jitter`, which is 0.",
        }),
      ),
      max_backoff: optional(
        duration(
          "interval",
          "max_backoff",
          "The longest wait after failures. Default: the longer of the interval and 6h.",
        ),
      ),
      ...recurring("interval"),
    }),
  },
  cron: {
    description: "Runs at the matching local times of its time zone.",
    anyOf: [{ required: ["expression"] }, { required: ["cron"] }],
    keys: () => ({
      expression: optional(cronText("The times: five cron fields, or six with seconds first.")),
      cron: optional(cronText("An alias of `expression`.")),
      timezone: optional(
        checked(
          'an IANA name such as "Europe/London"',
          (timezone) => validateSchedule({ ...LEAST.cron, cron: "@daily", timezone }),
          {
            type: "string",
            description: "An IANA time zone. Default: the fleet's.",
            examples: ["Europe/London", "UTC"],
          },
        ),
      ),
      ...recurring("cron"),
    }),
  },
  once: {
    description: "Runs one time.",
    keys: () => ({
      at: timing("once", "at", 'an ISO time with its offset, such as "2026-03-01T09:00:00Z"', {
        type: "string",
        description: "An ISO time with its offset.",
        examples: ["2026-03-01T09:00:00Z", "2026-03-01T09:00:00+01:00"],
      }),
      ...lateness("once"),
    }),
  },
  webhook: { description: "Runs on a request, never by time.", keys: () => ({}) },
  chat: { description: "Runs on a message, never by time.", keys: () => ({}) },
};

function timing(
  type: "interval" | "cron" | "once",
  key: string,
  expected: string,
  description: Description,
): Schema {
  const least = type === "cron" ? { ...LEAST.cron, cron: "@daily" } : LEAST[type];
  return checked(expected, (given) => validateSchedule({ ...least, [key]: given }), description);
}

function cronText(description: string): Schema {
  return checked(
    'a cron expression such as "0 9 * * 1-5"',
    (cron) => validateSchedule({ ...LEAST.cron, cron }),
    { type: "string", description, examples: ["0 9 * * 1-5", "*/15 * * * *", "@daily"] },
  );
}

function recurring(type: "interval" | "cron"): KeySchemas {
  return {
    min_interval: optional(
      duration(type, "min_interval", "The shortest time from planning to the next run."),
    ),
    max_interval: optional(duration(type, "max_interval", "The longest time from planning to the next run.")),
    ...lateness(type),
    on_failure: onFailureSchema(
      "What a failed job does to the next run: backoff doubles the wait of an interval, continue changes nothing, pause " +
        "pauses the schedule. Default: the agent's, which is backoff.",
    ),
  };
}

function lateness(type: "interval" | "cron" | "once"): KeySchemas {
  const missed =
    "What happens to slots that were due while no scheduler ran: skip them, or run one job late.";
  return {
    missed: optional(choice(["skip", "once"], missed, { default: type === "interval" ? "once" : "skip" })),
    grace: optional(
      duration(
        type,
        "grace",
        "How late a slot may start before it counts as missed. Default: half of a period up to a minute, else a " +
          "sixtieth of it, at most 5m.",
      ),
    ),
    when_busy: optional(
      choice(["wait", "skip"], "What happens to a slot that is due while the agent is at capacity.", {
        default: "wait",
      }),
    ),
  };
}

function duration(type: "interval" | "cron" | "once", key: string, description: string): Schema {
  return timing(type, key, 'text such as "5m"', { ...DURATION, description });
}
