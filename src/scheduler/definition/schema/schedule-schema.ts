/** The keys of a schedule, by its type. Their values are checked by the scheduler's own `validateSchedule`. */
import { timeoutMs } from "../../../runner/configuration.js";
import { validateSchedule } from "../../timing/schedule.js";
import {
  allOptional,
  checked,
  choice,
  constant,
  type Description,
  map,
  type MapSchema,
  nullable,
  oneOf,
  optional,
  type Schema,
  fitting,
} from "./fields.js";

/** The least that a schedule of a type is, to check one more key with. */
const LEAST = {
  interval: { type: "interval", interval: "1s" },
  cron: { type: "cron" },
  once: { type: "once", at: "2026-03-01T09:00:00Z" },
} as const;

const DURATION = { type: "string", pattern: "^[0-9]+[smhd]$", examples: ["30s", "5m", "1h", "2d"] };
const ON_FAILURE = ["backoff", "continue", "pause"];

export function timeoutSchema(whose: "an agent" | "a schedule", inFile: boolean): Schema {
  const byDefault = whose === "a schedule" ? "the agent's" : "for ever";
  const schema = checked(
    'milliseconds above 0 or text such as "5m"',
    (given) => void timeoutMs(given, whose),
    {
      description: `How long a job may take: milliseconds, or text such as "5m"; null: for ever. Default: ${byDefault}.`,
      anyOf: [{ type: "number", exclusiveMinimum: 0 }, DURATION],
    },
  );
  return optional(inFile ? nullable(schema) : schema);
}

export function onFailureSchema(description: string): Schema {
  return optional(choice(ON_FAILURE, description, { default: "backoff" }));
}

/** How a schedule is written; `inFile` adds what only a file has. */
export function scheduleSchema(workSource: Schema, inFile: boolean): Schema {
  const common = { ...commonKeys(workSource, inFile), ...(inFile ? { enabled: enabledSchema() } : {}) };
  const options: Record<string, MapSchema> = {};
  for (const [type, { description, keys, ...keywords }] of Object.entries(TYPES))
    options[type] = map({ type: constant(type, description), ...keys(), ...common }, "a map of keys", {
      description,
      ...keywords,
    });
  return oneOf(options, "a map with a type", { description: SCHEDULE });
}

/** Some keys of a schedule, whose other keys stand elsewhere. */
export function schedulePartsSchema(workSource: Schema): Schema {
  const keys: Record<string, Schema> = Object.assign({}, ...Object.values(TYPES).map((type) => type.keys()));
  const type = choice(Object.keys(TYPES), "When it runs.");
  const shape = { type, ...keys, ...commonKeys(workSource, true), enabled: enabledSchema() };
  return map(allOptional(shape), "a map of keys", { description: SCHEDULE });
}

const SCHEDULE = "When a job is due, and what it is to do.";

function commonKeys(workSource: Schema, inFile: boolean): Readonly<Record<string, Schema>> {
  const prompt = fitting("text", (given) => typeof given === "string", {
    type: "string",
    description: "What the job is to do.",
  });
  return { prompt: optional(prompt), work_source: workSource, timeout: timeoutSchema("a schedule", inFile) };
}

function enabledSchema(): Schema {
  return optional(
    fitting("true or false", (given) => typeof given === "boolean", {
      type: "boolean",
      default: true,
      description: "Whether there is such a schedule at all; false leaves it out.",
    }),
  );
}

interface TypeKeys {
  readonly description: string;
  readonly keys: () => Readonly<Record<string, Schema>>;
  readonly [keyword: string]: unknown;
}

const TYPES: Readonly<Record<string, TypeKeys>> = {
  interval: {
    description: "At once the first time, then counted from the end of the last run.",
    keys: () => ({
      interval: timing("interval", "interval", 'text such as "5m"', {
        ...DURATION,
        description: "How long to wait: a positive whole number and s, m, h or d.",
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
            "Percent of the wait that is added at random. Default: the fleet's `jitter`, which is 0.",
        }),
      ),
      ...recurring("interval"),
    }),
  },
  cron: {
    description: "At the matching local times of its time zone.",
    anyOf: [{ required: ["expression"] }, { required: ["cron"] }],
    keys: () => ({
      expression: optional(cronText("The times, in five cron fields or six with seconds in front.")),
      cron: optional(cronText("Another word for `expression`.")),
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
    description: "One time.",
    keys: () => ({
      at: timing("once", "at", 'an ISO time with its offset, such as "2026-03-01T09:00:00Z"', {
        type: "string",
        description: "An ISO time with its offset.",
        examples: ["2026-03-01T09:00:00Z", "2026-03-01T09:00:00+01:00"],
      }),
      ...lateness("once"),
    }),
  },
  webhook: { description: "Started by a request from outside, never by itself.", keys: () => ({}) },
  chat: { description: "Started by a message, never by itself.", keys: () => ({}) },
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

function recurring(type: "interval" | "cron"): Readonly<Record<string, Schema>> {
  return {
    min_interval: optional(
      duration(type, "min_interval", "The next run is at least this far away when it is planned."),
    ),
    max_interval: optional(
      duration(type, "max_interval", "The next run is at most this far away when it is planned."),
    ),
    ...lateness(type),
    on_failure: onFailureSchema(
      "What a failed job does to the next run: doubles the wait of an interval, nothing, or pauses the schedule. " +
        "Default: the agent's, which is backoff.",
    ),
  };
}

function lateness(type: "interval" | "cron" | "once"): Readonly<Record<string, Schema>> {
  const missed = `Whether a slot that nobody was there to run is dropped, or run one time late.`;
  return {
    missed: optional(choice(["skip", "once"], missed, { default: type === "interval" ? "once" : "skip" })),
    grace: optional(
      duration(
        type,
        "grace",
        "How late a slot may start without counting as missed. Default: half the period up to a minute, else a " +
          "sixtieth of it, at most 5m.",
      ),
    ),
    when_busy: optional(
      choice(["wait", "skip"], "What becomes of a slot that is due while its agent is at capacity.", {
        default: "wait",
      }),
    ),
  };
}

function duration(type: "interval" | "cron" | "once", key: string, description: string): Schema {
  return timing(type, key, 'text such as "5m"', { ...DURATION, description });
}
