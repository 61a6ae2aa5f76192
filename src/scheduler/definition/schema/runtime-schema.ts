/** The keys of a runtime, by its type. What only the runtime itself can judge is asked of it in check-parts.ts. */
import { timeoutMs } from "../../../runner/configuration.js";
import {
  allOptional,
  checked,
  choice,
  list,
  mapOf,
  oneOf,
  optional,
  type Schema,
  text,
  fitting,
  textsByName,
  wholeNumber,
} from "./fields.js";
import { type TypedMap, typedMaps } from "./typed-maps.js";

type Keys = Readonly<Record<string, Schema>>;

const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

/** What the types that Rota has are made of. */
export const RUNTIMES: Readonly<Record<string, TypedMap>> = {
  command: {
    description: "A command of its own: an argument list, never a shell.",
    keys: () => ({
      command: list(
        // An argument may be empty.
        fitting("text", (given) => typeof given === "string" && !given.includes("\0"), {
          type: "string",
          description: "The program, or an argument; {prompt} stands for the prompt.",
        }),
        'a list such as ["node", "work.js"]',
        "The program and its arguments. Without {prompt} in them, the prompt comes on stdin.",
        { minItems: 1, examples: [["node", "work.js"]] },
      ),
      cwd: optional(
        text("Its directory, relative to this file. Default: the directory of this file.", "a directory"),
      ),
      env: envSchema(),
      pass_env: optional(
        list(
          text("The name of a variable."),
          'a list of names such as ["API_TOKEN"]',
          "Variables of Rota's own environment that it sees, besides PATH, HOME and the like.",
        ),
      ),
      input: optional(choice(["stdin", "none"], "Whether the prompt comes on stdin.", { default: "stdin" })),
    }),
  },
  http: {
    description: "A request to a web server; an answer of the 200s is success.",
    keys: () => ({
      url: fitting('an address such as "https://example.org/hook"', isAddress, {
        type: "string",
        description: "Where to, without name or password.",
        writeOnly: true,
        examples: ["https://example.org/hook"],
      }),
      method: optional(
        fitting('one such as "POST"', (given) => METHODS.includes(String(given).toUpperCase()), {
          type: "string",
          default: "POST",
          description: "The HTTP method.",
          examples: METHODS,
        }),
      ),
      headers: optional(
        textsByName(
          "names and their texts",
          "Sent to this origin only, not to another that it redirects to.",
        ),
      ),
      body: optional(
        fitting(
          "text or a JSON value",
          (given) => typeof given === "string" || (typeof given === "object" && given !== null),
          {
            type: ["string", "object", "array"],
            description:
              "Text or a JSON value, with {prompt}, {job_id}, {agent}, {schedule}, {attempt} or {work_item.title} in it. " +
              "Default: all of them as JSON.",
          },
        ),
      ),
      timeout: optional(
        checked(
          'milliseconds above 0 or text such as "30s"',
          (given) => void timeoutMs(given, "an http runtime"),
          {
            description: "How long the answer may take.",
            anyOf: [
              { type: "number", exclusiveMinimum: 0 },
              { type: "string", pattern: "^[0-9]+[smhd]$" },
            ],
          },
        ),
      ),
      max_redirects: optional(wholeNumber("How many redirects are followed.", 0, { default: 3 })),
    }),
  },
  messages: {
    description: "An agent SDK, asked through the sdkQuery that the host gives.",
    keys: () => ({
      options: optional(
        mapOf(
          fitting("a value", (given) => given !== undefined, { description: "An option of the SDK." }),
          "the options of the SDK",
          "Handed to the SDK as they are.",
        ),
      ),
    }),
  },
  function: { description: "The agent's own `run`, which the host gives.", keys: () => ({}) },
};

/** Variables for commands, on an agent or in its runtime. */
export function envSchema(): Schema {
  return optional(
    textsByName(
      "names and their texts (env: { NAME: value })",
      "Environment variables that its commands see.",
    ),
  );
}

function isAddress(given: unknown): boolean {
  return typeof given === "string" && URL.canParse(given) && /^https?:$/.test(new URL(given).protocol);
}

/** The keys of all types, as they may stand beside the `runtime` of an agent that has it. */
export function keysBesideRuntime(): Keys {
  const { timeout: _, ...keys } = Object.assign({}, ...Object.values(RUNTIMES).map((type) => type.keys()));
  return allOptional(keys);
}

/** Which keys a runtime of a type has, except those that an agent has itself; `undefined` for a type of the host. */
export function keysOfRuntime(type: string): readonly string[] | undefined {
  if (!Object.hasOwn(RUNTIMES, type)) return undefined;
  return Object.keys(RUNTIMES[type]?.keys() ?? {}).filter((key) => key !== "timeout" && key !== "env");
}

/** `others` are types that the host has registered: only their type is known here. Parts of a runtime may be merged. */
export function runtimeSchema(others: readonly string[], isWhole: boolean): Schema {
  const options = typedMaps(RUNTIMES, { others, otherIs: "A runtime of the host.", isWhole });
  return oneOf(options, "a runtime such as { type: command, command: [node, work.js] }", {
    description:
      "How its jobs run. Its keys may stand beside it: `runtime: command`, `command: [node, work.js]`.",
  });
}
