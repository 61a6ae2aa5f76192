/** Every text is a configuration or a ConfigError, and agents written as YAML are read back unchanged. */
import { readFileSync } from "node:fs";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { checkAgents } from "../../src/scheduler/definition/check-agents.js";
import { ConfigError } from "../../src/scheduler/definition/errors.js";
import { parseConfig } from "../../src/config/parse-config.js";

const file = "/etc/fleet/rota.yaml";
const mistakes = readFileSync(new URL("fixtures/twenty-mistakes.yaml", import.meta.url), "utf8");
const whole = readFileSync(new URL("fixtures/every-key.yaml", import.meta.url), "utf8");

/** The result of a text. */
function verdictOn(text: string): string {
  try {
    parseConfig(text, { file, env: {} });
    return "accepted";
  } catch (error) {
    if (!(error instanceof ConfigError)) return `thrown: ${String(error)}`;
    const { problems } = error;
    const areLocated = problems.every(
      ({ line, column, frame }) =>
        line !== undefined && column !== undefined && frame?.includes("^") !== false,
    );
    return problems.length > 0 && areLocated ? "refused" : `not located: ${error.message}`;
  }
}

function errorOf(act: () => void): unknown {
  try {
    act();
    return undefined;
  } catch (error) {
    return error;
  }
}

const scrap = fc.constantFrom(
  ..."\n|:|: |- |[|]|{|}|,|'|\"|#|&a |*a|!!str |? |%|@|`|\\|~|null|5|-1|1e999|.nan|true|${A}|${|$${|\u0000|\ud800|🎈|<<: |path: |x-|__proto__: |type: |\t|  |---\n|...\n|>-\n|\r".split(
    "|",
  ),
  "|",
);

describe("any text", () => {
  it("parses to a configuration or throws a ConfigError with positions", () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(scrap, fc.string({ maxLength: 6 })), { maxLength: 40 }), (parts) => {
        expect(["accepted", "refused"]).toContain(verdictOn(parts.join("")));
      }),
      { numRuns: 200 },
    );
  });

  it("that is a configuration with insertions and cuts parses or throws a ConfigError", () => {
    const cut = fc.record({
      text: fc.constantFrom(mistakes, whole),
      at: fc.nat({ max: 5_000 }),
      length: fc.nat({ max: 12 }),
      put: fc.oneof(scrap, fc.constant("")),
    });
    fc.assert(
      fc.property(fc.array(cut, { minLength: 1, maxLength: 3 }), (cuts) => {
        const [first] = cuts;
        let text = first?.text ?? "";
        for (const { at, length, put } of cuts) {
          const from = at % (text.length + 1);
          text = text.slice(0, from) + put + text.slice(from + length);
        }
        expect(["accepted", "refused"]).toContain(verdictOn(text));
      }),
      { numRuns: 150 },
    );
  });
});

describe("any value", () => {
  it("passes checkAgents or makes it throw a ConfigError", () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(fc.anything(), fc.record({ name: fc.string(), schedules: fc.anything() }))),
        (agents) => {
          const thrown = errorOf(() => checkAgents(agents));
          expect(thrown === undefined || thrown instanceof ConfigError).toBe(true);
        },
      ),
      { numRuns: 150 },
    );
  });
});

const name = fc.stringMatching(/^[a-z][a-z0-9 ._-]{0,20}$/).filter((one) => one !== "__proto__");
const duration = fc
  .tuple(fc.integer({ min: 1, max: 500 }), fc.constantFrom("s", "m", "h", "d"))
  .map((two) => two.join(""));
const prompt = fc.string().filter((text) => !text.includes("${"));
const schedule = fc.oneof(
  fc.record(
    {
      type: fc.constant("interval"),
      interval: duration,
      jitter: fc.integer({ min: 0, max: 10 }),
      anchor: fc.constantFrom("completion", "start"),
      prompt,
      timeout: duration,
    },
    { requiredKeys: ["type", "interval"] },
  ),
  fc.record(
    {
      type: fc.constant("cron"),
      expression: fc.constantFrom("0 9 * * 1-5", "@daily", "*/15 * * * * *"),
      timezone: fc.constantFrom("UTC", "Europe/London"),
      missed: fc.constantFrom("skip", "once"),
      prompt,
    },
    { requiredKeys: ["type", "expression"] },
  ),
  fc.record({ type: fc.constantFrom("webhook", "chat"), prompt }, { requiredKeys: ["type"] }),
);
const agents = fc.uniqueArray(
  fc.record(
    {
      name,
      description: fc.string({ minLength: 1 }).filter((text) => !text.includes("${") && !text.includes("\0")),
      instances: fc.record({ max_concurrent: fc.integer({ min: 1, max: 50 }) }),
      runtime: fc.record({ type: fc.constant("messages"), options: fc.dictionary(name, fc.integer()) }),
      schedules: fc.dictionary(name, schedule, { maxKeys: 4 }),
    },
    { requiredKeys: ["name", "schedules"] },
  ),
  { selector: (agent) => agent.name, maxLength: 5 },
);

describe("agents that are written as YAML", () => {
  it("are read back unchanged", () => {
    fc.assert(
      fc.property(agents, (given) => {
        const text = stringify({ version: 1, agents: given });
        const config = parseConfig(text, { file, env: {} });
        expect(config.agents).toEqual(given);
        expect(() => checkAgents(config.agents)).not.toThrow();
      }),
      { numRuns: 100 },
    );
  });
});
