/** What is left of a state file that was cut, spoiled, or edited by a hand that slipped. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { getScheduleState } from "../../../../src/state/file/state-functions.js";
import { around, expectHarmless, goodAgent, HEAD, type HostileFile, MIDDLE_LINE } from "./hostile-file.js";
import { listening } from "../../listening.js";
import { temporaryDirectory } from "../../temporary-directory.js";

const line = (number: number): number => MIDDLE_LINE - 1 + number;
const idle = { status: "idle" };

/** An agent in the middle with a good schedule on either side of some lines. */
function schedulesAround(lines: string): string {
  return `  middle:\n    schedules:\n      a:\n        status: idle\n${lines}      z:\n        status: idle\n`;
}
const both = { middle: { schedules: { a: idle, z: idle } } };
const whole = around("");

describe("a file that holds nothing is told and kept, when it", () => {
  it.each(
    Object.entries<HostileFile>({
      "is empty": { bytes: "", warnings: [/line 1: it is empty/], good: [] },
      "is only white space": { bytes: " \n\n  \n", warnings: [/it is empty/], good: [] },
      "is only comments": { bytes: "# a\n# b\n", warnings: [/it is empty/], good: [] },
      "is only NULs": { bytes: Buffer.alloc(4096), warnings: [/line 1: a byte or a character/], good: [] },
      "is binary": {
        bytes: Buffer.from(Array.from({ length: 5_000 }, (_, index) => (index * 7919 + (index >> 3)) % 256)),
        warnings: [/line \d+: a byte or a character/],
        good: [],
      },
      "is UTF-16": {
        bytes: Buffer.from(`\ufeff${whole}`, "utf16le"),
        warnings: [/line 1: a byte/],
        good: [],
      },
      "is one text": { bytes: "gone\n", warnings: [/line 1: expected a map/], good: [] },
      "is a list": { bytes: "- a\n- b\n", warnings: [/line 1: expected a map/], good: [] },
      "is a number": { bytes: "42", warnings: [/line 1: expected a map/], good: [] },
      "is JSON cut short": { bytes: '{"agents": {"a": {"sched', warnings: [/line 1: /], good: [] },
    }),
  )("%s", async (_, file) => {
    await expectHarmless(file);
  });
});

describe("a file that was cut keeps what came before, when it ends", () => {
  it.each(
    Object.entries<HostileFile>({
      "in the name of an agent": {
        bytes: HEAD + goodAgent("first") + "  la",
        warnings: [/line 24/],
        good: ["first"],
      },
      "in a value": {
        bytes: `${HEAD}${goodAgent("first")}  cut:\n    schedules:\n      a:\n        status: idle\n      b:\n        status: id`,
        warnings: [/agents\.cut\.schedules\.b \(line 29\): status is "id", expected one of idle/],
        good: ["first"],
        others: { cut: { schedules: { a: idle } } },
      },
      "in a quoted text": {
        bytes: `${HEAD}${goodAgent("first")}  cut:\n    schedules:\n      a:\n        status: idle\n      b:\n        last_error: "it`,
        warnings: [/agents\.cut\.schedules\.b \(line 29\): Missing closing/],
        good: ["first"],
        others: { cut: { schedules: { a: idle } } },
      },
      "in a character": {
        bytes: Buffer.from(`${HEAD}${goodAgent("first")}  cut:\n    x: 1\n    error: "🐑`).subarray(0, -2),
        warnings: [/agents\.cut \(line 26\): a byte or a character/],
        good: ["first"],
        others: { cut: { x: 1 } },
      },
      "behind the line that says agents": { bytes: HEAD, warnings: [], good: [] },
      "in a block of NULs": {
        bytes: Buffer.concat([Buffer.from(around("")), Buffer.alloc(1000)]),
        warnings: [/line 42/],
      },
    }),
  )("%s", async (_, file) => {
    await expectHarmless(file);
  });
});

describe("a damaged entry leaves the other entries as they are:", () => {
  it.each(
    Object.entries<HostileFile>({
      "a word that is no status, in one schedule": {
        bytes: around(schedulesAround("      bad:\n        status: runing\n")),
        warnings: [
          new RegExp(
            `agents\\.middle\\.schedules\\.bad \\(line ${line(6)}\\): status is "runing", expected one of`,
          ),
        ],
        others: both,
      },
      "30 February, in one schedule": {
        bytes: around(schedulesAround("      bad:\n        next_run_at: 2026-02-30T00:00:00Z\n")),
        warnings: [/bad \(line \d+\): next_run_at is "2026-02-30T00:00:00Z", expected an ISO time/],
        others: both,
      },
      "times that are none, in three schedules": {
        bytes: around(
          schedulesAround(
            "      b:\n        last_run_at: yesterday\n      c:\n        last_run_at: 2026-03-01 09:00\n      d:\n        last_run_at: 1\n",
          ),
        ),
        warnings: [/schedules\.b .*"yesterday"/, /schedules\.c .*"2026-03-01 09:00"/, /schedules\.d .*is 1,/],
        others: both,
      },
      "a number below zero and half a number": {
        bytes: around(
          schedulesAround("      b:\n        failure_count: -1\n      c:\n        missed_count: 0.5\n"),
        ),
        warnings: [/failure_count is -1/, /missed_count is 0.5/],
        others: both,
      },
      "a hint without its end": {
        bytes: around(schedulesAround("      b:\n        hint:\n          interval: 5m\n")),
        warnings: [/schedules\.b .*hint is an object, expected a map with expires_at/],
        others: both,
      },
      "lists and texts in the place of schedules": {
        bytes: around(schedulesAround("      b: [1]\n      c: idle\n      d: 3\n")),
        warnings: [/schedules\.b \(/, /schedules\.c \(/, /schedules\.d \(.*expected a map/],
        others: both,
      },
      "a text in the place of all schedules": {
        bytes: around("  middle:\n    x: 1\n    schedules: none\n"),
        warnings: [/agents\.middle\.schedules \(line \d+\): expected a map/],
        others: { middle: { x: 1 } },
      },
      "a list in the place of an agent": {
        bytes: around("  middle: [1, 2]\n"),
        warnings: [/agents\.middle \(line \d+\): expected a map/],
      },
      "a text in the place of all agents": {
        bytes: "fleet: {}\nagents: none\n",
        warnings: [/agents \(line 2\): expected a map/],
        good: [],
      },
      "a syntax error in one schedule": {
        bytes: around(
          schedulesAround('      bad:\n        status: idle\n        last_error: "never closed\n'),
        ),
        warnings: [
          new RegExp(`agents\\.middle\\.schedules\\.bad \\(line ${line(8)}\\): Missing closing "quote`),
        ],
        others: both,
      },
      "a syntax error in a key of an agent": {
        bytes: around(`  middle:\n    x: [1\n    y: 2\n${schedulesAround("").slice("  middle:\n".length)}`),
        warnings: [new RegExp(`agents\\.middle \\(line ${line(3)}\\): Flow sequence`)],
        others: { middle: { y: 2, ...both.middle } },
      },
      "a syntax error at the top": {
        bytes: `broken: {\n${around("")}`,
        warnings: [/line 2: Flow map/],
      },
      "a syntax error after the agents": {
        bytes: `${around("")}broken: "\nmore: 1\n`,
        warnings: [/line 43: Missing closing/],
      },
      "a line that says nothing, among agents": {
        bytes: around("  what is this\n"),
        warnings: [new RegExp(`line ${line(1)}\\)`)],
      },
      "a line that says nothing, among schedules": {
        bytes: around(schedulesAround("      what is this\n")),
        warnings: [/agents\.middle\.schedules.* \(line \d+\)/],
        others: both,
      },
      "NULs in one schedule": {
        bytes: around(schedulesAround("      bad:\n        last_error: \0\0\0\n")),
        warnings: [/schedules\.bad \(line \d+\): a byte or a character/],
        others: both,
      },
      "a byte that is not UTF-8, in one schedule": {
        bytes: Buffer.from(around(schedulesAround('      bad:\n        last_error: "caf\xe9"\n')), "latin1"),
        warnings: [/schedules\.bad \(line \d+\): a byte or a character/],
        others: both,
      },
      "a byte that is not UTF-8, at the top": {
        bytes: Buffer.from(`note: caf\xe9\n${around("")}`, "latin1"),
        warnings: [/line 1: a byte or a character/],
      },
      "a second key for the agents, in disguise": {
        bytes: `"\\u0061gents": {}\n${around("")}`,
        warnings: [/line 6: "agents" twice/],
      },
      "a CR without its LF": {
        bytes: `---\n${around(schedulesAround("      bad:\n\r        status: idle\n"))}`,
        warnings: [/schedules\.bad \(line \d+\): a byte or a character/],
        others: both,
      },
      "a tab in the place of spaces": {
        bytes: around(schedulesAround("      bad:\n\t\tstatus: idle\n")),
        warnings: [/middle/],
        others: both,
      },
      "the same schedule twice, of which the first counts": {
        bytes: around(schedulesAround("      a:\n        status: disabled\n")),
        warnings: [/agents\.middle\.schedules \(line \d+\): "a" twice; the first one counts/],
        others: both,
      },
      "the same agent twice": {
        bytes: around("  first:\n    status: late\n"),
        warnings: [new RegExp(`agents\\.first \\(line ${line(1)}\\): the same key twice`)],
      },
      "the same key of an agent twice": {
        bytes: around("  middle:\n    x: 1\n    x: 2\n"),
        warnings: [/agents\.middle \(line \d+\): "x" twice/],
        others: { middle: { x: 1 } },
      },
      "the schedules of an agent twice": {
        bytes: around(`${schedulesAround("")}    schedules:\n      late:\n        status: idle\n`),
        warnings: [/agents\.middle \(line \d+\): "schedules" twice/],
        others: both,
      },
      "the agents twice": {
        bytes: `${around("")}agents:\n  late: {}\n`,
        warnings: [/line 42: "agents" twice/],
      },
      "the same top-level key twice": {
        bytes: `${around("")}fleet: {}\n`,
        warnings: [/line 42: "fleet" twice/],
      },
      "an alias bomb": {
        bytes: around(
          `  middle:\n    a: &a [x, x, x, x, x, x, x, x, x]\n${"bcdefghi"
            .split("")
            .map((key, index) => `    ${key}: &${key} [${`*${"abcdefgh"[index]}, `.repeat(9)}]\n`)
            .join("")}`,
        ),
        warnings: Array.from(
          "bcdefghi",
          (key) => new RegExp(`agents\\.middle\\.${key} \\(line \\d+\\): an alias`),
        ),
        others: { middle: { a: Array.from({ length: 9 }, () => "x") } },
      },
      "an alias to itself": {
        bytes: around("  middle: &m\n    x: *m\n"),
        warnings: [/agents\.middle\.x \(line \d+\): an alias/],
        others: { middle: {} },
      },
      "a merge of an alias": {
        bytes: around(schedulesAround("      b: &b\n        status: idle\n      c:\n        <<: *b\n")),
        warnings: [/schedules\.c \(line \d+\): an alias/],
        others: { middle: { schedules: { a: idle, b: idle, z: idle } } },
      },
      tags: {
        bytes: around(
          schedulesAround("      b:\n        at: !!timestamp 2026-03-01\n      c:\n        x: !secret y\n"),
        ),
        warnings: [/schedules\.b \(.*Unresolved tag/, /schedules\.c \(.*Unresolved tag/],
        others: both,
      },
      "a key that is a list": {
        bytes: around("  [a, b]: {}\n"),
        warnings: [new RegExp(`agents \\(line ${line(1)}\\): a key that is not text`)],
      },
      "a key that is too long to be written back": {
        bytes: around(`  middle:\n    ? ${"k".repeat(1_500)}\n    : 1\n    z: 1\n`),
        warnings: [/agents\.middle \(line \d+\): a key that is not text, or too long/],
        others: { middle: { z: 1 } },
      },
      "a second document": {
        bytes: `${around("")}---\nagents: {}\n`,
        warnings: [/line 42/, /line 43: "agents" twice/],
      },
      "the marks of a merge conflict": {
        bytes: around("<<<<<<< ours\n  middle: {}\n=======\n  middle: {}\n>>>>>>> theirs\n"),
        warnings: [/line 24/, /line 26/, /"middle" twice/, /line 28/],
        others: { middle: {} },
      },
      "nesting, 60,000 brackets deep": {
        bytes: around(`  middle:\n    x: ${"[".repeat(60_000)}\n    y: 1\n`),
        warnings: [/agents\.middle \(line \d+\)/],
        others: { middle: { y: 1 } },
      },
      "nesting, 300 lists deep": {
        bytes: around(`  middle:\n    x: ${"[".repeat(300)}${"]".repeat(300)}\n    z: 1\n`),
        warnings: [/agents\.middle\.x \(line \d+\): more than 100 levels/],
        others: { middle: { z: 1 } },
      },
      "nesting, 1,000 maps deep": {
        bytes: around(
          `  middle:\n    z: 1\n${Array.from({ length: 1_000 }, (_, depth) => `${" ".repeat(4 + 2 * depth)}x:${depth === 999 ? " 1" : ""}\n`).join("")}`,
        ),
        warnings: [/agents\.middle\.x \(line \d+\)/],
        others: { middle: { z: 1 } },
      },
    }),
  )("%s", async (_, file) => {
    await expectHarmless(file);
  });
});

describe("what is odd but says what it means is no damage:", () => {
  it.each(
    Object.entries<HostileFile>({
      "a byte order mark": { bytes: `\ufeff${whole}`, warnings: [] },
      "lines that end in CR LF": { bytes: whole.replaceAll("\n", "\r\n"), warnings: [] },
      "a document start": { bytes: `---\n${whole}`, warnings: [] },
      "no newline at the end": { bytes: whole.trimEnd(), warnings: [] },
      "comments everywhere": { bytes: whole.replaceAll("\n", " # why\n# because\n"), warnings: [] },
      "twice the indentation": { bytes: whole.replaceAll(/^ +/gm, "$&$&"), warnings: [] },
      "one line of JSON": {
        bytes: JSON.stringify({
          agents: { middle: { schedules: { "a b": { status: "idle", x: [1.5, null] } } } },
        }),
        warnings: [],
        good: [],
        others: { middle: { schedules: { "a b": { status: "idle", x: [1.5, null] } } } },
      },
      "what is empty": {
        bytes: around("  a:\n  b: {}\n  c:\n    schedules:\n  d:\n    schedules:\n      x:\n"),
        warnings: [],
        others: { a: {}, b: {}, c: {}, d: { schedules: { x: {} } } },
      },
      "names that every object has": {
        bytes: around(
          `  __proto__:\n    schedules:\n      __proto__:\n        __proto__: 1\n        constructor: 2\n  constructor:\n    toString: {}\n  toString: {}\n`,
        ),
        warnings: [],
        others: Object.fromEntries([
          [
            "__proto__",
            {
              schedules: Object.fromEntries([
                ["__proto__", Object.fromEntries(Object.entries({ ["__proto__"]: 1, constructor: 2 }))],
              ]),
            },
          ],
          ["constructor", { toString: {} }],
          ["toString", {}],
        ]),
      },
      "names that look like other things": {
        bytes: around("  007: {}\n  true: {}\n  ~: {}\n  1.50: {}\n"),
        warnings: [],
        others: { "007": {}, true: {}, "~": {}, "1.50": {} },
      },
      "a name and what it holds, each on a line of its own": {
        bytes: around("  ? middle\n  : x: 1\n"),
        warnings: [],
        others: { middle: { x: 1 } },
      },
      "lists that are not indented": {
        bytes: around("  middle:\n    x:\n    - 1\n    - a: b\n"),
        warnings: [],
        others: { middle: { x: [1, { a: "b" }] } },
      },
      "texts over several lines": {
        bytes: around(
          '  middle:\n    x: |\n      one\n        two\n\n    y: >-\n      folded\n      text\n    z: "a\n      b"\n',
        ),
        warnings: [],
        others: { middle: { x: "one\n  two\n", y: "folded text", z: "a b" } },
      },
    }),
  )("%s", async (_, file) => {
    await expectHarmless(file);
  });
});

describe("a schedule that was disabled", () => {
  it.each([
    ["a wrong value", "        status: disabled\n        failure_count: many\n"],
    ["a syntax error", '        status: disabled\n        last_error: "never closed\n'],
    ["an alias", "        status: disabled\n        hint: *gone\n"],
    ["a second status", "        status: idle\n        status: disabled\n"],
    ["a byte that is no text", "        status: disabled\n        last_error: \0\n"],
  ])("stays so beside %s", async (_, lines) => {
    await expectHarmless({
      bytes: around(schedulesAround(`      off:\n${lines}`)),
      warnings: [/agents\.middle\.schedules\.off \(line \d+\)/],
      others: { middle: { schedules: { ...both.middle.schedules, off: { status: "disabled" } } } },
    });
  });
});

describe("one broken agent", () => {
  it("leaves the 100 entries around it as they are", async () => {
    const names = Array.from({ length: 100 }, (_, index) => `agent-${index}`);
    const chunks = names.map(goodAgent).toSpliced(50, 0, "  broken: }{\n");
    await expectHarmless({ bytes: HEAD + chunks.join(""), warnings: [/agents.* \(line \d+\)/], good: names });
  });

  it("loses none of its schedules but the broken ones, of 100", async () => {
    const names = Array.from({ length: 100 }, (_, index) => `schedule-${index}`);
    const lines = names.map((name) => `      ${name}:\n        status: idle\n`);
    const broken = lines.with(20, "      b: [\n").with(70, "      c:\n        status: 'idle\n").join("");
    const left = names.toSpliced(70, 1).toSpliced(20, 1);
    await expectHarmless({
      bytes: around(`  middle:\n    schedules:\n${broken}`),
      warnings: [/agents\.middle\.schedules/, /agents\.middle\.schedules\.c/],
      others: { middle: { schedules: Object.fromEntries(left.map((name) => [name, idle])) } },
    });
  });
});

describe("many damages", () => {
  it("are told by the first ten and a count", async () => {
    using directory = temporaryDirectory();
    const lines = Array.from({ length: 30 }, (_, index) => `      s${index}:\n        status: ${index}\n`);
    writeFileSync(join(directory.path, "state.yaml"), around(`  middle:\n    schedules:\n${lines.join("")}`));
    const { logger, warnings } = listening();
    await getScheduleState(directory.path, "first", "daily", { logger });
    expect(warnings).toHaveLength(11);
    expect(warnings.at(-1)).toMatch(/20 more entries were reset/);
  });

  it("do not let a name write its own lines into the log", async () => {
    using directory = temporaryDirectory();
    writeFileSync(
      join(directory.path, "state.yaml"),
      `agents:\n  "a\\nERROR \\e[31m": 1\n  b: !${"x".repeat(5000)} 1\n`,
    );
    const { logger, warnings } = listening();
    await getScheduleState(directory.path, "first", "daily", { logger });
    expect(
      warnings.filter(
        (warning) => warning.includes("\n") || warning.includes("\u001b") || warning.length > 500,
      ),
    ).toEqual([]);
  });
});
