/** Environment variables in a configuration: which are replaced, which are problems, and that values are not shown. */
import { describe, expect, it } from "vitest";
import { interpolate } from "../../../src/config/yaml/interpolate.js";
import { parseConfig } from "../../../src/config/parse-config.js";
import { fleetWith, problemOf, problemsOf, refusalOf, scheduleWith } from "../problems-of.js";

const env = { NAME: "Ada", EMPTY: "", WITH: "${NAME}" };

describe("a text with variables", () => {
  it.each([
    ["${NAME}", "Ada"],
    ["Dear ${NAME}, ${NAME}!", "Dear Ada, Ada!"],
    ["${NAME:-Bob}", "Ada"],
    ["${NONE:-Bob}", "Bob"],
    ["${NONE:-}", ""],
    ["${EMPTY:-Bob}", "Bob"],
    ["${EMPTY}", ""],
    ["${NONE:-a: b, [c] $d}", "a: b, [c] $d"],
    ["$${NAME}", "${NAME}"],
    ["${WITH}", "${NAME}"],
    ["${NAME}${NONE:-x}$${y}", "Adax${y}"],
  ])("%s becomes %s", (text, filled) => {
    expect(interpolate(text, env)).toEqual({ text: filled, faults: [] });
  });

  it.each(["no variable", "$NAME", "5 $", "$$", "{NAME}"])("%s stays unchanged", (text) => {
    expect(interpolate(text, env)).toBeUndefined();
  });

  it.each(["${constructor}", "${__proto__}", "${NONE}"])("such as %s has an unset variable", (text) => {
    expect(interpolate(text, env)?.faults).toEqual([{ written: text, name: text.slice(2, -1) }]);
  });

  it.each(["${}", "${ NAME }", "${NAME", "${1}", "${NAME-x}", "${NAME:-${EMPTY}"])(
    "such as %s has an invalid variable",
    (text) => {
      expect(interpolate(text, env)?.faults).toMatchObject([{ name: undefined }]);
    },
  );
});

describe("a variable in a configuration", () => {
  it("is replaced in all values, and not in keys", () => {
    const text = fleetWith(
      "description: By ${NAME}",
      "runtime: { type: command, command: [echo, '${NAME}'], env: { '${NAME}': '${NAME}' } }",
    );
    const [agent] = parseConfig(text, { env }).agents;
    expect(agent).toMatchObject({
      description: "By Ada",
      runtime: { command: ["echo", "Ada"], env: { "${NAME}": "Ada" } },
    });
  });

  it("becomes a number or a boolean where one is expected", () => {
    const text = fleetWith(
      "instances: { max_concurrent: '${MAX}' }",
      "schedules: { s: { type: interval, interval: 5m, jitter: '${J}', prompt: '${MAX}', enabled: '${ON}' } }",
    );
    const [agent] = parseConfig(text, { env: { MAX: "3", J: "0.5", ON: "true" } }).agents;
    expect(agent).toMatchObject({
      instances: { max_concurrent: 3 },
      schedules: { s: { jitter: 0.5, prompt: "3" } },
    });
  });

  it("that is unset is a problem at its position in the text", () => {
    expect(problemOf(fleetWith("description: Dear ${A:-x} and ${NONE}"))).toMatchObject({
      code: "UNSET_VARIABLE",
      message: 'The environment variable NONE is not set: set it, or write "${NONE:-default}"',
      line: 3,
      column: 35,
      where: 'agents[0] "writer", description',
    });
  });

  it("that is unset twice in one text is two problems at two positions", () => {
    const problems = problemsOf(fleetWith("description: ${NONE} ${NONE}"));
    expect(problems.map(({ column }) => column)).toEqual([18, 26]);
  });

  it("that is unset is the only problem of its value", () => {
    expect(problemOf(scheduleWith("type: interval, interval: '${NONE}'")).code).toBe("UNSET_VARIABLE");
    expect(problemOf(fleetWith("runtime: { type: http, url: 'https://${NONE}:x' }")).code).toBe(
      "UNSET_VARIABLE",
    );
  });

  it("that is invalid is a problem that shows how to write a literal ${", () => {
    expect(problemOf(fleetWith("description: ${a b}")).message).toContain('write "$${" for a literal "${"');
  });
});

describe("the value of a variable", () => {
  it("is not revealed by a suggestion", () => {
    const problem = problemOf(scheduleWith("type: '${TYPE}'"), { env: { TYPE: "intervall" } });
    expect(problem).toMatchObject({ code: "UNKNOWN_TYPE", given: '"${TYPE}"', suggestion: undefined });
  });

  const secret = "hunter2-5x";
  const filled = { SECRET: secret };

  it.each([
    ["an interval", scheduleWith("type: interval, interval: '${SECRET}'")],
    ["an expression", scheduleWith("type: cron, cron: '1 2 ${SECRET}'")],
    ["a choice", scheduleWith("type: chat, work_source: { type: '${SECRET}' }")],
    ["a type", scheduleWith("type: '${SECRET}'")],
    ["a time zone", "timezone: ${SECRET}\nagents: []"],
    ["a timeout", fleetWith("timeout: ${SECRET}")],
    [
      "a whole part",
      fleetWith("runtime: { type: http, url: https://a.b, headers: { '${SECRET} x': '${SECRET}' } }"),
    ],
    ["a number", fleetWith("instances: { max_concurrent: '${SECRET}' }")],
    [
      "a contradiction",
      scheduleWith("type: interval, interval: 1h, min_interval: '${LONG}', max_interval: 1s"),
    ],
    [
      "the other side of a contradiction",
      scheduleWith("type: interval, interval: 1h, min_interval: 99999h, max_interval: '${LONG}'"),
    ],
    ["a name", "agents: [{ name: '${SECRET}' }, { name: '${SECRET}' }]"],
    ["a path", "agents: [{ path: '${SECRET}' }]"],
    [
      "two labels",
      scheduleWith(
        "type: chat, work_source: { type: github, repo: a/b, labels: { ready: '${SECRET}', working: '${SECRET}' } }",
      ),
    ],
    [
      "a work source",
      scheduleWith("type: chat, work_source: { type: github, repo: a/b, base_url: '${SECRET}' }"),
    ],
  ])("that is wrong for %s is not shown", (_, text) => {
    const refusal = refusalOf(text, { env: { ...filled, LONG: "98765s" } });
    const said = `${refusal.message}${JSON.stringify(refusal.problems)}${refusal.stack}`;
    expect(said).not.toMatch(/hunter2|98765/);
    expect(said).toContain("${");
  });
});
