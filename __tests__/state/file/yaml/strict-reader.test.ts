/** The two readers of the state file against each other, and both against what `yaml` says of the same text. */
import { type Fields, isFields } from "../../../../src/fields.js";
import { inspect as inspectValue, isDeepStrictEqual } from "node:util";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as yaml from "yaml";
import { problemOf } from "../../../../src/state/validate-state.js";
import { emptyDocument } from "../../../../src/state/file/yaml/state-document.js";
import { readDocument } from "../../../../src/state/file/yaml/read-document.js";
import {
  type AgentFields,
  renderAgent,
  renderFields,
} from "../../../../src/state/file/yaml/state-document.js";
import { readAgentStrictly, readFieldsStrictly } from "../../../../src/state/file/yaml/strict-reader.js";
import { readYamlAgent } from "../../../../src/state/file/yaml/yaml-reader.js";
import { agent, change, changed, fields, plainAgent } from "./tricky-state.js";

const inspect = (value: unknown): string => inspectValue(value, { depth: Infinity });
// eslint-disable-next-line no-control-regex
const NOT_YAML = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|\r(?!\n)/;

/**
 * What the package misreads without an error: behind a tab it may take a line for one at the left margin, and a
 * text whose last quote is escaped for one that is closed.
 */
const MISREAD = /^ *\t+ *[^\s#]|(?<!\\)(?:\\\\)*\\"\s*$/m;

/** What a text means to `yaml`; `undefined` where it has errors, or what no state has: aliases, tags, doubles. */
function meaning(text: string): { value: unknown } | undefined {
  // The package lets control characters pass, and takes a lone CR for a part of the next key.
  if (NOT_YAML.test(text)) return undefined;
  // Behind a byte order mark the package misses the indentation of the first line.
  const document = yaml.parseDocument(text.replace(/^\ufeff/, ""), {
    intAsBigInt: true,
    logLevel: "error",
    prettyErrors: false,
    resolveKnownTags: false,
  });
  if (document.errors.length + document.warnings.length > 0) return undefined;
  if (document.directives?.yaml.version !== "1.2") return undefined;
  try {
    return { value: plain(document.contents) };
  } catch {
    return undefined;
  }
}

function plain(node: unknown): unknown {
  if (node === null) return null;
  if (yaml.isScalar(node)) return numberOf(node.value);
  if (yaml.isSeq(node)) return node.items.map(plain);
  if (!yaml.isMap(node)) throw new Error("no state has this");
  const entries = node.items.map(({ key, value }): [string, unknown] => [nameOf(key), plain(value)]);
  if (new Set(entries.map(([key]) => key)).size < entries.length) throw new Error("the same key twice");
  return Object.fromEntries(entries);
}

function nameOf(key: unknown): string {
  if (!yaml.isScalar(key) || (key.value === null && key.source === "")) throw new Error("no state has this");
  return typeof key.value === "string" ? key.value : String(key.source);
}

function numberOf(value: unknown): unknown {
  return typeof value === "bigint" && BigInt(Number(value)) === value ? Number(value) : value;
}

/** As `toStrictEqual`, which takes a key that is called constructor for the real one. */
function expectSame(actual: unknown, expected: unknown, text = ""): void {
  const difference = `${text}
${inspect(actual)}
is not
${inspect(expected)}`;
  expect(isDeepStrictEqual(actual, expected) ? "" : difference).toBe("");
}

/** An agent as it stands in the file. */
function asFile({ name, other, schedules }: AgentFields): Fields {
  const inner = schedules.size === 0 ? other : { ...other, schedules: Object.fromEntries(schedules) };
  return Object.fromEntries([[name, inner]]);
}

/** What a sound file means, with nothing at all in the place of what is empty; `undefined` for one with damage. */
function soundFile(value: unknown): Fields | undefined {
  if (!isFields(value)) return undefined;
  const agents = mapOf(value["agents"]);
  if (agents === undefined) return undefined;
  const sound: [string, Fields][] = [];
  for (const [name, entry] of Object.entries(agents)) {
    const own = mapOf(entry);
    const schedules =
      own === undefined ? undefined : mapOf(Object.hasOwn(own, "schedules") ? own["schedules"] : null);
    if (own === undefined || schedules === undefined) return undefined;
    const states = Object.entries(schedules).map(([key, state]) => [key, mapOf(state)] as const);
    if (states.some(([, state]) => state === undefined || problemOf(state) !== undefined)) return undefined;
    const other = Object.fromEntries(Object.entries(own).filter(([key]) => key !== "schedules"));
    sound.push([name, states.length === 0 ? other : { ...other, schedules: Object.fromEntries(states) }]);
  }
  return { ...value, agents: Object.fromEntries(sound) };
}

function mapOf(value: unknown): Fields | undefined {
  if (value === null || value === undefined) return {};
  return isFields(value) ? value : undefined;
}

/** As bytes cannot hold half a surrogate pair, neither can a file. */
function wellFormed(text: string): string {
  return Buffer.from(text).toString();
}

/** What our own reader makes of a whole file. */
async function ourReading(text: string): Promise<{ value: Fields; damages: readonly string[] }> {
  const { document, damages } = await readDocument(Buffer.from(text), emptyDocument());
  const agents = Array.from(document.agents.values(), (entry) => Object.entries(asFile(entry))).flat();
  return { value: { ...document.head, agents: Object.fromEntries(agents) }, damages };
}

function render(head: Fields, agents: readonly AgentFields[]): string {
  const chunks = agents.map(renderAgent).join("");
  return `${renderFields(head, "")}agents:${chunks === "" ? " {}\n" : `\n${chunks}`}`;
}

describe("the text of an agent", () => {
  it("is read back as it was, whatever its names, keys and values", async () => {
    await fc.assert(
      fc.asyncProperty(agent, async (written) => {
        const chunk = renderAgent(written);
        const read = readAgentStrictly(chunk) ?? (await readYamlAgent(chunk)).agents[0];
        expectSame(read, written);
      }),
      { numRuns: 500 },
    );
  });

  it("is read by the strict reader alone when it holds text, numbers, lists and maps", () => {
    const written: AgentFields = {
      name: "my agent",
      other: {
        status: "idle",
        list: [1, "two", [{ a: null }]],
        ratio: -0.5,
        x: { y: "z", empty: {}, n: -5, no: null, yes: true },
      },
      schedules: new Map<string, Fields>([
        [
          "daily",
          { status: "idle", failure_count: 3, hint: { expires_at: "2026-03-01T09:00:00Z" }, extra: "a: b\n" },
        ],
        ["bare", {}],
      ]),
    };
    expect(readAgentStrictly(renderAgent(written))).toStrictEqual(written);
  });

  it("means the same to yaml as part of a whole file", () => {
    fc.assert(
      fc.property(
        fields,
        fc.uniqueArray(agent, { selector: ({ name }) => name, maxLength: 3 }),
        (head, agents) => {
          const file = render(withoutAgents(head), agents);
          const named = agents.flatMap((written) => Object.entries(asFile(written)));
          expectSame(meaning(file), {
            value: { ...withoutAgents(head), agents: Object.fromEntries(named) },
          });
        },
      ),
      { numRuns: 400 },
    );
  });
});

function withoutAgents(head: Fields): Fields {
  return Object.fromEntries(Object.entries(head).filter(([key]) => key !== "agents"));
}

describe("the strict reader", () => {
  it("says what yaml says or declines, on 20,000 spoiled agents", () => {
    fc.assert(
      fc.property(
        fc.oneof(plainAgent, agent),
        fc.array(fc.array(change, { minLength: 1, maxLength: 3 }), { minLength: 20, maxLength: 20 }),
        (written, variants) => {
          const chunk = renderAgent(written);
          for (const changes of variants) {
            const spoiled = changes.reduce(changed, chunk);
            const read = readAgentStrictly(spoiled);
            const expected = read === undefined ? undefined : { value: asFile(read) };
            expectSame(expected === undefined ? undefined : meaning(spoiled), expected, spoiled);
          }
        },
      ),
      { numRuns: 1_000 },
    );
  });

  it("says what yaml says or declines, on 2,000 spoiled openings of a file", () => {
    fc.assert(
      fc.property(
        fields,
        fc.array(fc.array(change, { minLength: 1, maxLength: 2 }), { minLength: 10, maxLength: 10 }),
        (written, variants) => {
          const chunk = renderFields(written, "");
          for (const changes of variants) {
            const spoiled = changes.reduce(changed, chunk);
            const read = readFieldsStrictly(spoiled);
            const { value } = meaning(spoiled) ?? {};
            expectSame(read === undefined ? undefined : (value ?? {}), read, spoiled);
          }
        },
      ),
      { numRuns: 200 },
    );
  });
});

describe("a whole file", () => {
  const file = fc
    .tuple(
      fc.constantFrom<Fields>({}, { fleet: { x: 1 } }, { fleet: {}, y: "a b" }),
      fc.array(plainAgent, { maxLength: 3 }),
    )
    .map(([head, agents]) => render(head, [...new Map(agents.map((entry) => [entry.name, entry])).values()]));

  it("is read as yaml reads it, without damage where it is sound, on 1,000 spoiled files", async () => {
    await fc.assert(
      fc.asyncProperty(
        file,
        fc.array(fc.array(change, { minLength: 1, maxLength: 3 }), { minLength: 5, maxLength: 5 }),
        async (written, variants) => {
          const texts = variants.map((changes) => wellFormed(changes.reduce(changed, written)));
          for (const spoiled of texts.filter((text) => !MISREAD.test(text))) {
            const { value, damages } = await ourReading(spoiled);
            const sound = soundFile(meaning(spoiled)?.value);
            const expected = sound === undefined ? { isDamaged: true } : { isDamaged: false, value: sound };
            const isDamaged = damages.length > 0;
            expectSame(isDamaged ? { isDamaged } : { isDamaged, value }, expected, spoiled);
          }
        },
      ),
      { numRuns: 200 },
    );
  });
});
