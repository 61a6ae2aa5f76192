/** Agents that are hard to write down, and ways to spoil the text in which they are. */
import type { Fields } from "../../../../src/fields.js";
import * as fc from "fast-check";
import type { AgentFields } from "../../../../src/state/file/yaml/state-document.js";

const TRICKY_TEXTS = [
  "__proto__", "constructor", "toString", "schedules", "agents", "status", "null", "~", "true", "No", "y", "on",
  "", " ", " a", "a ", "007", "42", "-1", "1e3", "0x1f", ".inf", ".nan", "1_000", "12:30", "<<", "=", "-", "--", "---",
  "...", "?", ":", "a: b", "a:", ":a", "#a", "a #b", "a#b", "&a", "*a", "!a", "|", ">", "%YAML 1.1", "@a", "`a`", "[a]",
  "{a}", "{}", "[]", "a,b", "a/b", "a.b", "C:\\x", "\"q\"", "'q'", "it's", "a\nb", "a\r\nb", "\r", "\t", "a\tb", "\\",
  "\\u0041", "\u0000", "\u001b[31m", "\u007f", "\u0085", "\u2028", "\u2029", "\ufeff", "\ufffe", "\uffff", "\ufffd",
  "🐑", "é", "e\u0301", "日本", "5m", "10s", "2026-03-01T09:00:00Z", "2026-03-01", "idle", "x".repeat(200),
]; // prettier-ignore

/** Any text, whole characters only. */
export const text: fc.Arbitrary<string> = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...TRICKY_TEXTS) },
  { weight: 1, arbitrary: fc.string({ unit: "binary", maxLength: 6 }) },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.constantFrom(...TRICKY_TEXTS), fc.constantFrom(...TRICKY_TEXTS))
      .map((parts) => parts.join("")),
  },
);

const brokenText = fc.constantFrom("\ud83d", "a\udc11", "\udc11\ud83d");

const scalar: fc.Arbitrary<unknown> = fc.oneof(
  text,
  brokenText,
  fc.integer(),
  fc.double(),
  fc.boolean(),
  fc.constant(null),
  fc.constantFrom(
    -0,
    2 ** 53,
    2 ** 60,
    -(2 ** 63),
    1e21,
    5e-324,
    9007199254740993n,
    10n ** 30n + 1n,
    -(10n ** 17n) - 1n,
  ),
);

const { value }: { value: fc.Arbitrary<unknown> } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, depthSize: "small" },
    scalar,
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(text, tie("value"), { maxKeys: 3, noNullPrototype: true }),
  ),
}));

/** Keys and values of every kind, also `__proto__` as an own key. */
export const fields: fc.Arbitrary<Fields> = fc
  .array(fc.tuple(text, value), { maxLength: 3 })
  .map((entries): Fields => Object.fromEntries(entries));

const time = fc.constantFrom("2026-03-01T09:00:00.000Z", "2026-03-01T09:00Z", "2024-02-29T23:59:59+05:30");

function lastJob(id: fc.Arbitrary<string>): fc.Arbitrary<object> {
  return fc.record(
    {
      id,
      slot: fc.option(time),
      trigger: fc.constantFrom("interval", "manual"),
      attempt: fc.nat(3),
      status: fc.constantFrom("completed", "timeout"),
    },
    { requiredKeys: ["id", "status"], noNullPrototype: true },
  );
}

const schedule: fc.Arbitrary<Fields> = fc
  .tuple(
    fc.record(
      {
        status: fc.constantFrom("idle", "running", "disabled"),
        last_run_at: fc.option(time),
        next_run_at: time,
        next_run_source: fc.constantFrom("baseline-cron", "once"),
        last_error: text,
        failure_count: fc.nat(),
        hint: fc.record(
          { interval: text, expires_at: time },
          { requiredKeys: ["expires_at"], noNullPrototype: true },
        ),
        last_job: lastJob(text),
      },
      { requiredKeys: [], noNullPrototype: true },
    ),
    fields,
  )
  // The known keys keep their values: what an unknown key says is never wrong.
  .map(([known, unknown]) => Object.assign(withoutKnown(unknown), known));

function withoutKnown(unknown: Fields): Fields {
  return Object.fromEntries(Object.entries(unknown).filter(([key]) => key !== "status"));
}

export const agent: fc.Arbitrary<AgentFields> = fc
  .tuple(text, fields, fc.array(fc.tuple(text, schedule), { maxLength: 3 }))
  .map(([name, other, schedules]) => ({
    name,
    other: Object.fromEntries(Object.entries(other).filter(([key]) => key !== "schedules")),
    schedules: new Map(schedules),
  }));

/** Simple agents, whose text stays readable after most changes to it. */
export const plainAgent: fc.Arbitrary<AgentFields> = fc
  .tuple(
    fc.constantFrom("a", "b", "my agent", "c/d", "🐑"),
    fc.constantFrom<Fields>({}, { status: "idle" }, { x: { y: 1, z: "a b" } }, { list: [1, "a"] }),
    fc.dictionary(
      fc.constantFrom("daily", "hourly", "on push"),
      fc.record(
        {
          status: fc.constantFrom("idle", "disabled"),
          last_run_at: time,
          last_error: fc.constantFrom("no: luck", "it broke", "x\ny"),
          failure_count: fc.nat(12),
          hint: fc.record({ expires_at: time, reason: fc.constant("a # b") }, { noNullPrototype: true }),
          last_job: lastJob(fc.constant("job-2026-11-15-k3x9qa")),
          extra: fc.constantFrom<unknown>(1, "1", null, { deep: { er: true } }),
        },
        { requiredKeys: ["status"], noNullPrototype: true },
      ),
      { maxKeys: 2 },
    ),
  )
  .map(([name, other, schedules]) => ({ name, other, schedules: new Map(Object.entries(schedules)) }));

export interface Change {
  /** Where, as a part of the whole. */
  readonly place: number;
  readonly kind:
    | "insert"
    | "delete"
    | "replace"
    | "insert line"
    | "delete line"
    | "swap lines"
    | "indent"
    | "all";
  readonly what: number;
}

export const change: fc.Arbitrary<Change> = fc.record({
  // Doubles would be drawn by their exponent: nearly all of them next to nothing.
  place: fc.nat(9_999).map((part) => part / 10_000),
  kind: fc.constantFrom<Change["kind"][]>(
    "insert", "insert", "delete", "replace", "insert line", "insert line", "delete line", "swap lines", "indent", "all",
  ), // prettier-ignore
  what: fc.nat(10_000),
});

const SNIPPETS = [
  " ", "  ", "\t", "\n", "\r", "\r\n", ":", ": ", " :", "#", " #", " # c", '"', "'", "''", "\\", "\\x41", "\\u0041", "&a ",
  "*a", "!!str ", "!t ", "[", "]", "{", "}", "{}", "[]", ",", "|", ">", "|-\n", "- ", "-", "? ", "---\n", "\n---\n", "...\n",
  "%YAML 1.1\n---\n", "~", "null", "true", "yes", "1", "0", "0x1", ".5", "e", "x", "\u0085", "\u2028", "\ufeff", "\u0000",
  "\u007f", "é", "🐑", "<<: ",
]; // prettier-ignore

const LINES = [
  "", "    ", "# c", "  # c", "        # c", "\t", "  \t# c", "---", "...", "agents:", "agents: {}", "fleet: {}", "x: 1", "x:",
  "- 1", "  - 1", "    - 1", "  b:", "  b: {}", "  b: # c", '  "b":', "  'b': {}", "  b: 1", "  ? b", "  : 1", "  {b: {}}",
  "    status: idle", "    x: |", "    x: >-", '    x: "', '    y: "', "    x: [", "    ]", "    y: {", "    }", "    schedules:",
  "    schedules: {}", "      daily:", "      daily: {}", "      new:", "      z: 1", "        status: idle",
  "        status: disabled", "        extra: |", "          text", "        extra: [1,", "        2]", "        'extra': 1",
  "        on: yes", "        <<: {}", "   x: 1", " x: 1", '"', "]", "}", "%TAG ! !",
]; // prettier-ignore

/** The text with one change made to it. */
export function changed(before: string, { place, kind, what }: Change): string {
  const at = Math.floor(place * (before.length + 1));
  const snippet = SNIPPETS[what % SNIPPETS.length] ?? "";
  const lines = before.split("\n");
  const line = Math.floor(place * lines.length);
  const ways: Record<Change["kind"], () => string> = {
    insert: () => before.slice(0, at) + snippet + before.slice(at),
    delete: () => before.slice(0, at) + before.slice(at + 1 + (what % 4)),
    replace: () => before.slice(0, at) + snippet + before.slice(at + snippet.length),
    "insert line": () => lines.toSpliced(line, 0, LINES[what % LINES.length] ?? "").join("\n"),
    "delete line": () => lines.toSpliced(line, 1 + (what % 3)).join("\n"),
    "swap lines": () => lines.toSpliced(line, 2, lines[line + 1] ?? "", lines[line] ?? "").join("\n"),
    indent: () => lines.with(line, indented(lines[line] ?? "", what)).join("\n"),
    all: () => changedAll(before, what),
  };
  return ways[kind]();
}

function indented(line: string, what: number): string {
  const [less, more, tab] = [line.replace(/^ {1,2}/, ""), `  ${line}`, `\t${line}`];
  return [less, more, tab, ` ${line}`][what % 4] ?? line;
}

function changedAll(before: string, what: number): string {
  const ways = [
    () => before.replaceAll("\n", "\r\n"),
    () => `\ufeff${before}`,
    () => `---\n${before}`,
    () => `%YAML 1.1\n---\n${before}`,
    () => before.replaceAll(/^( *)/gm, "$1$1"),
    () => before.replaceAll('"', "'"),
    () => before.replaceAll("  ", "\t"),
    () => before.trimEnd(),
    () => before.slice(0, what % before.length),
    () => `${before}...\n`,
    () => before + before,
  ];
  return (ways[what % ways.length] ?? (() => before))();
}
