/** The problems of a configuration: the position, the given value, the expectation and the suggestion. */
import { describe, expect, it } from "vitest";
import { RotaError } from "../../src/errors.js";
import { parseCronExpression } from "../../src/scheduler/timing/cron.js";
import { parseInterval } from "../../src/scheduler/timing/interval.js";
import { validateSchedule } from "../../src/scheduler/timing/schedule.js";
import { thrownBy } from "../thrown-by.js";
import { fleetWith, problemOf, problemsOf, refusalOf, scheduleWith } from "./problems-of.js";

describe("a problem of a configuration", () => {
  it("is shown with its position, its message, and carets under the text", () => {
    const text = ["agents:", "  - name: writer", "    schedules:", "      s: { type: once, at: soon }"].join(
      "\n",
    );
    expect(refusalOf(text).message).toBe(
      [
        "rota.yaml has a problem.",
        "",
        'rota.yaml:4:28 agents[0] "writer", schedule "s", at',
        '  Invalid at "soon": expected an ISO time with its offset, such as "2026-03-01T09:00:00Z"',
        "  4 |       s: { type: once, at: soon }",
        "    |                            ^^^^",
      ].join("\n"),
    );
  });

  it("has the position and the message as fields", () => {
    expect(problemOf(scheduleWith("type: interval, interval: 1h, when_busy: wat"))).toEqual({
      code: "INVALID_VALUE",
      message: 'Invalid when_busy "wat": expected "wait" or "skip"; did you mean "wait"?',
      where: 'agents[0] "writer", schedule "nightly", when_busy',
      path: ["agents", 0, "schedules", "nightly", "when_busy"],
      given: '"wat"',
      expected: '"wait" or "skip"',
      suggestion: "wait",
      file: "rota.yaml",
      line: 4,
      column: 59,
      frame: expect.stringMatching(/^ {2}4 \| .*\n {4}\| +\^\^\^$/) as string,
    });
  });

  it("belongs to an error that extends RotaError", () => {
    const refusal = refusalOf("agents: 5");
    expect(refusal).toBeInstanceOf(RotaError);
    expect(refusal.name).toBe("ConfigError");
    expect(refusal.stack).toMatch(/^ConfigError: /);
  });

  it("shows a part of a long line, with carets under the text", () => {
    const prompt = "x".repeat(150);
    const { frame = "" } = problemOf(scheduleWith(`type: once, prompt: ${prompt}, at: soon, timeout: 5m`));
    const [line = "", carets = ""] = frame.split("\n");
    expect(line.length).toBeLessThan(120);
    expect(line.slice(carets.indexOf("^"), carets.lastIndexOf("^") + 1)).toBe("soon");
  });

  it("has carets under the text after surrogate pairs", () => {
    const { frame = "" } = problemOf(scheduleWith('type: once, prompt: "🎈🎈", at: soon'));
    const [line = "", carets = ""] = frame.split("\n");
    expect(Array.from(line).slice(carets.indexOf("^")).join("")).toBe("soon }");
  });

  it("shows no control characters", () => {
    const { frame, message } = problemOf(`agents: []\n"\\e[31m": "\u009b31m\u202e"`);
    for (const character of ["\u001b", "\u009b", "\u202e"])
      expect(`${frame}${message}`).not.toContain(character);
  });

  it("counts CR LF as one line end", () => {
    const { line, frame } = problemOf("version: 1\r\nagents: 5\r\n");
    expect(line).toBe(2);
    expect(frame).toBe("  2 | agents: 5\n    |         ^");
  });
});

describe("the path text of a problem", () => {
  it.each([
    ["agents[0]", "agents: [5]"],
    ["agents[0], name", "agents: [{ description: x }]"],
    ['agents[0] "writer", runtime, command[1]', fleetWith("runtime: { type: command, command: [node, 5] }")],
    ['agents[0] "writer", schedule "a b", type', fleetWith("schedules:", "  a b: { type: never }")],
    [
      'agents[0] "writer", work_source, labels, ready',
      fleetWith('work_source: { type: github, repo: a/b, labels: { ready: "a,b" } }'),
    ],
    ["defaults, timeout", "defaults: { timeout: never }\nagents: []"],
    [
      'agents[0] "writer", runtime, env, "A B"',
      fleetWith('runtime: { type: command, command: [a], env: { "A B": [] } }'),
    ],
  ])("is %s", (where, text) => {
    expect(problemOf(text).where).toBe(where);
  });
});

describe("an unknown key", () => {
  it.each([
    ["max-concurrent", "max_concurrent", "instances: { max-concurrent: 2 }"],
    ["maxConcurrent", "max_concurrent", "instances: { maxConcurrent: 2 }"],
    ["shcedules", "schedules", "shcedules: {}"],
    ["Timeout", "timeout", "Timeout: 5m"],
  ])("%s gets the suggestion %s", (key, meant, line) => {
    expect(problemOf(fleetWith(line))).toMatchObject({
      code: "UNKNOWN_KEY",
      message: `Unknown key "${key}": did you mean "${meant}"?`,
      suggestion: meant,
    });
  });

  it("without a similar key is reported with the known keys", () => {
    const { message, suggestion } = problemOf(fleetWith("instances: { colour: red }"));
    expect(message).toBe('Unknown key "colour": expected max_concurrent');
    expect(suggestion).toBeUndefined();
  });

  it("that is misspelt is not reported as missing too", () => {
    const problems = problemsOf(scheduleWith("type: interval, intervall: 5m"));
    expect(problems.map(({ code }) => code)).toEqual(["UNKNOWN_KEY"]);
  });

  it("does not hide a missing key", () => {
    const problems = problemsOf(scheduleWith("type: interval, colour: red"));
    expect(problems.map(({ code }) => code)).toEqual(["MISSING_KEY", "UNKNOWN_KEY"]);
  });

  it("of a different type of schedule has the scheduler's message", () => {
    const { message } = thrownBy(() => validateSchedule({ type: "once", jitter: 5 })) as Error;
    expect(problemOf(scheduleWith('type: once, at: "2026-03-01T09:00:00Z", jitter: 5')).message).toBe(
      message,
    );
  });

  it.each([
    ["belongs to a runtime: add runtime: command", ["command: [node]"]],
    [
      'belongs to a runtime of type http, but this runtime has type "command"',
      ["runtime: command", "command: [a]", "url: x"],
    ],
    [
      'The runtime already has the key "command": remove one',
      ["runtime: { type: command, command: [a] }", "command: [a]"],
    ],
  ])("has the message: %s", (words, lines) => {
    expect(problemOf(fleetWith(...lines)).message).toContain(words);
  });
});

describe("a wrong value", () => {
  it.each([
    ["interval", "5x", () => parseInterval("5x")],
    ["interval", "5", () => parseInterval(5 as unknown as string)],
    ["interval", "0m", () => parseInterval("0m")],
  ])("of %s, %s, has the scheduler's message", (_, given, act) => {
    const { message } = thrownBy(act) as Error;
    expect(problemOf(scheduleWith(`type: interval, interval: ${given}`)).message).toBe(message);
  });

  it.each(["expression", "cron"])("of %s has the message of the cron parser", (key) => {
    const { message } = thrownBy(() => parseCronExpression("0 25 * * *")) as Error;
    expect(problemOf(scheduleWith(`type: cron, ${key}: 0 25 * * *`))).toMatchObject({
      message,
      where: `agents[0] "writer", schedule "nightly", ${key}`,
    });
  });

  it.each([
    ["min_interval: 2h, max_interval: 1h", "min_interval", "at most max_interval"],
    ["jitter: 11", "jitter", "0 to 10 percent"],
    ["grace: soon", "grace", "Expected format"],
    ["anchor: end", "anchor", '"completion" or "start"'],
    ["on_failure: panic", "on_failure", '"backoff", "continue" or "pause"'],
    ["missed: twice", "missed", '"skip" or "once"'],
    ["timeout: 0", "timeout", "milliseconds above 0"],
    ["prompt: [a]", "prompt", "expected text"],
    ["enabled: yes", "enabled", "true or false"],
    ["work_source: inbox", "work_source", "such as { type: directory"],
    ["work_source: { type: dir }", "type", "one of directory, github, memory"],
    ["work_source: { type: memory, items: [{ title: a, priority: now }] }", "work_source", "priority"],
  ])("in a schedule with %s is reported at %s", (keys, key, words) => {
    const problem = problemOf(scheduleWith(`type: interval, interval: 1h, ${keys}`));
    expect(problem.path.at(-1)).toBe(key);
    expect(problem.message).toContain(words);
  });

  it.each([
    ["runtime: { type: command }", "Missing command"],
    ["runtime: { type: command, command: [] }", "has no command"],
    ["runtime: { type: command, command: [a], cwd: 5 }", "Invalid cwd 5"],
    ['runtime: { type: command, command: [a], env: { "A=B": c } }', 'no "=" or NUL'],
    ["runtime: { type: command, command: [a], input: file }", '"stdin" or "none"'],
    ["runtime: { type: http }", "Missing url"],
    ["runtime: { type: http, url: https://a.b, method: FETCH }", 'such as "POST"'],
    ["runtime: { type: http, url: https://a.b, headers: { a b: c } }", "cannot be sent"],
    ["runtime: { type: http, url: https://a.b, max_redirects: -1 }", "a whole number from 0"],
    ["runtime: { type: messages, options: 5 }", "the options of the SDK"],
    ["runtime: 5", "a runtime such as"],
    ["runtime: comand", 'did you mean "command"?'],
    ["env: { A: b }", "this agent has no runtime"],
    ["instances: { max_concurrent: 1.5 }", "a whole number from 1"],
    ["timeout: never", 'text such as "5m"'],
    ["description:", "Invalid description without a value: expected text"],
    ["schedules: [a]", "Invalid schedules with a list: expected schedules by name"],
    ["on_failure: panik", '"backoff", "continue" or "pause"'],
    ["work_source: { type: github, repo: farm }", "owner/name"],
    ["work_source: { type: github, repo: a/b, claim_expiry: 8d }", 'a duration from "1s" to "7d"'],
    ["work_source: { type: github, repo: a/b, labels: { ready: x, working: X } }", "a different label"],
  ])("in an agent with %s has the message: %s", (line, words) => {
    expect(problemOf(fleetWith(line)).message).toContain(words);
  });

  it.each([
    ["", "Missing agents: expected a list of agents"],
    ["agents:", "Invalid agents without a value: expected a list of agents"],
    ["- a", "Invalid configuration with a list"],
    ["agents: []\nversion: 2", "Invalid version 2: expected 1"],
    ["agents: []\nmax_concurrent: 0", "a whole number from 1"],
    ["agents: []\ncheck_interval: 0", "milliseconds from 1"],
    ["agents: []\njobs: { keep: 0 }", "a whole number from 1"],
    ["agents: []\njobs: { max_age: 30 }", 'text such as "30d"'],
    ["agents: []\njobs: { max_output: 1 TB }", 'bytes such as 500000 or "1MB"'],
    ["agents: []\njobs: { max_jobs: 5 }", 'Unknown key "max_jobs"'],
    ["agents: []\njitter: 20", "0 to 10 percent"],
    ["agents: []\ntimezone: 5", "Unknown time zone"],
    ["agents: []\ndefaults: [a]", "Invalid defaults with a list"],
    ["agents: []\ndefaults: { name: a }", 'Unknown key "name"'],
    ["agnets: []", 'did you mean "agents"?'],
  ])("in the file %j has the message: %s", (text, words) => {
    expect(problemOf(text).message).toContain(words);
  });

  it("in the defaults is reported once, however many agents there are", () => {
    const { where } = problemOf("defaults: { timeout: never }\nagents: [{ name: a }, { name: b }]");
    expect(where).toBe("defaults, timeout");
  });

  it("of a cron schedule without an expression is a missing key", () => {
    expect(problemOf(scheduleWith("type: cron"))).toMatchObject({
      code: "MISSING_KEY",
      message: expect.stringContaining("Missing expression") as string,
      line: 4,
    });
  });

  it("of a cron schedule with both cron and expression is a contradiction", () => {
    expect(problemOf(scheduleWith("type: cron, cron: '@daily', expression: '@daily'")).message).toContain(
      "remove one",
    );
  });

  it("of a schedule's name is a name that the store rejects", () => {
    const { message, path } = problemOf(fleetWith("schedules:", `  ${"n".repeat(129)}: { type: chat }`));
    expect(message).toBe("Invalid schedule name: expected a name of 1 to 128 characters");
    expect(path.at(-1)).toBe("n".repeat(129));
  });
});

describe("a file with thousands of problems", () => {
  const text = `agents:\n${"  - nam: a\n".repeat(3_000)}`;

  it("is not checked to its end", () => {
    expect(problemsOf(text)).toHaveLength(2_000);
  });

  it("shows the first problems in its message", () => {
    const { message } = refusalOf(text);
    expect(message.match(/did you mean/g)).toHaveLength(100);
    expect(message).toMatch(/\n… and 1900 more\.$/);
  });
});

describe("two agents with the same name", () => {
  it("are reported at the second, with the line of the first", () => {
    expect(problemOf("agents:\n  - name: a\n  - name: b\n  - name: a\n")).toMatchObject({
      code: "DUPLICATE_NAME",
      line: 4,
      message: 'Two agents are named "a", the first in line 2: give every agent a unique name',
    });
  });
});

describe("a password", () => {
  const secret = "hunter2hunter2";

  it.each([
    ["an invalid address", fleetWith(`runtime: { type: http, url: "ftp://me:${secret}@a.b" }`)],
    ["an address with a password", fleetWith(`runtime: { type: http, url: "https://me:${secret}@a.b" }`)],
    [
      "a line beside the problem",
      fleetWith("runtime:", "  type: command", `  env: { TOKEN: ${secret} }`, "  command: 5"),
    ],
  ])("in %s is not shown", (_, text) => {
    const refusal = refusalOf(text);
    expect(`${refusal.message}${JSON.stringify(refusal.problems)}`).not.toContain(secret);
  });
});
