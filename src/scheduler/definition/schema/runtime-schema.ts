/** The keys of a runtime, by its type. check-parts.ts checks whether the runtime can be created. */
import { timeoutMs } from "../../../runner/configuration.js";
import { HTTP_METHODS } from "../../../runner/runtimes/http-request.js";
import {
  allOptional,
  checked,
  choice,
  type KeySchemas,
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

/** The built-in types. */
export const RUNTIMES: Readonly<Record<string, TypedMap>> = {
  command: {
    description: "A child process: an argument list, never a shell.",
    keys: () => ({
      command: list(
        // An argument may be empty.
        fitting("text", (given) => typeof given === "string" && !given.includes("\0"), {
          type: "string",
          description: "The program, or an argument; {prompt}, {slot} and {key} are filled in.",
        }),
        'a list such as ["node", "work.js"]; there is no shell, so a shell line is ["sh", "-c", "a | b"]',
        "The program and its arguments. Without {prompt} in them, the prompt is written to stdin.",
        { minItems: 1, examples: [["node", "work.js"]] },
      ),
      cwd: optional(
        text(
          "The working directory, relative to this file. Default: the directory of this file.",
          "a directory",
        ),
      ),
      env: envSchema(),
      pass_env: optional(
        list(
          text("The name of a variable."),
          'a list of names such as ["API_TOKEN"]',
          "Variables of Rota's environment that are passed on, besides PATH, HOME and similar ones.",
        ),
      ),
      input: optional(
        choice(["stdin", "none"], "Whether the prompt is written to stdin.", { default: "stdin" }),
      ),
    }),
  },
  http: {
    description: "A request to a web server; a 2xx response is success.",
    keys: () => ({
      url: fitting('an address such as "https://example.org/hook"', isAddress, {
        type: "string",
        description: "The address, without name or password; {slot} and {key} are filled in.",
        writeOnly: true,
        examples: ["https://example.org/hook"],
      }),
      method: optional(
        fitting('one such as "POST"', isMethod, {
          type: "string",
          default: "POST",
          description: "The HTTP method.",
          examples: HTTP_METHODS,
        }),
      ),
      headers: optional(
        textsByName(
          "names and their texts",
          "Sent to this origin only, not to a different origin after a redirect; {slot} and {key} are filled in.",
        ),
      ),
      body: optional(
        fitting(
          "text or a JSON value",
          (given) => typeof given === "string" || (typeof given === "object" && given !== null),
          {
            type: ["string", "object", "array"],
            description:
              "Text or a JSON value, with {prompt}, {job_id}, {agent}, {schedule}, {slot}, {key}, {attempt} or {work_item.title} in it. " +
              "Default: all of them as JSON.",
          },
        ),
      ),
      timeout: optional(
        checked(
          'milliseconds above 0 or text such as "30s"',
          (given) => void timeoutMs(given, "an http runtime"),
          {
            description: "How long the request may take.",
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
    description: "An agent SDK, called through the host's sdkQuery.",
    keys: () => ({
      options: optional(
        mapOf(
          fitting("a value", (given) => given !== undefined, { description: "An option of the SDK." }),
          "the options of the SDK",
          "Passed to the SDK unchanged.",
        ),
      ),
    }),
  },
  function: { description: "The agent's `run` function, which the host provides.", keys: () => ({}) },
};

/** Environment variables of commands, on an agent or in its runtime. */
export function envSchema(): Schema {
  return optional(
    textsByName(
      "names and their texts (env: { NAME: value })",
      "Environment variables of the agent's commands.",
    ),
  );
}

function isMethod(given: unknown): boolean {
  return typeof given === "string" && HTTP_METHODS.includes(given.toUpperCase());
}

function isAddress(given: unknown): boolean {
  return typeof given === "string" && URL.canParse(given) && /^https?:$/.test(new URL(given).protocol);
}

/** The keys of all types, which an agent may have beside its `runtime`. */
export function keysBesideRuntime(): KeySchemas {
  const { timeout: _, ...keys } = Object.assign({}, ...Object.values(RUNTIMES).map((type) => type.keys()));
  return allOptional(keys);
}

/** The keys of a runtime, without the keys that an agent has too; `undefined` for a type of the host. */
export function keysOfRuntime(type: string): readonly string[] | undefined {
  if (!Object.hasOwn(RUNTIMES, type)) return undefined;
  return Object.keys(RUNTIMES[type]?.keys() ?? {}).filter((key) => key !== "timeout" && key !== "env");
}

/** The built-in types that have the key. */
export function runtimesWithKey(key: string): readonly string[] {
  return Object.keys(RUNTIMES).filter((type) => keysOfRuntime(type)?.includes(key));
}

export function runtimeSchema(hostTypes: readonly string[], isWhole: boolean): Schema {
  const options = typedMaps(RUNTIMES, { hostTypes, hostDescription: "A runtime of the host.", isWhole });
  return oneOf(options, "a runtime such as { type: command, command: [node, work.js] }", {
    description:
      "How jobs run. Its keys may also be keys of the agent: `runtime: command`, `command: [node, work.js]`.",
  });
}
