/** Texts that are invalid or excessive YAML: each is a problem with its position, and none takes long. */
import { describe, expect, it } from "vitest";
import { problemOf, problemsOf } from "../problems-of.js";

describe("a YAML text", () => {
  it.each([
    ["agents: [", "SYNTAX", 1],
    ["agents:\n\t- name: a", "SYNTAX", 2],
    ["agents: []\nfoo", "SYNTAX", 2],
    ["x-a: &x [*x]\nagents: []", "SYNTAX", 1],
    ["agents: *nothing", "SYNTAX", 1],
    ["agents: []\n---\nagents: []", "SYNTAX", 2],
    ["agents: []\nversion: !!secret 1", "SYNTAX", 2],
    ["agents: []\n\u0000", "SYNTAX", 2],
    ["agents: []\rversion: 1", "SYNTAX", 1],
    ['agents: [{ name: a, schedules: { s: { type: chat, prompt: "a\u0001b" } } }]', "SYNTAX", 1],
    ["agents: []\n[a]: b", "SYNTAX", 2],
    ["agents: []\n: b", "SYNTAX", 2],
    ["agents: []\n__proto__: { name: a }", "SYNTAX", 2],
    ["%YAML 1.1\n---\nagents: []", "SYNTAX", 1],
    ["agents: []\n<<: 5", "UNKNOWN_KEY", 2],
    ["agents: []\nagents: []", "DUPLICATE_KEY", 2],
  ])("%j is rejected with %s in line %i", (text, code, line) => {
    const problems = problemsOf(text);
    expect(problems[0]).toMatchObject({ code, line });
  });

  it("with one mistake is not reported for all errors that follow from it", () => {
    expect(problemsOf(`agents: ${"[".repeat(90)}`)).toHaveLength(1);
    expect(problemsOf(`agents: []\n${"]\n".repeat(50)}`).length).toBeLessThanOrEqual(10);
  });

  it("with an alias in its own anchor has the message that it refers to itself", () => {
    expect(problemOf("x-a: &x 1\nx-b: &x [*x]\nagents: []").message).toBe('The alias "*x" refers to itself');
  });

  it("with a duplicate key is reported with the line of the first", () => {
    expect(problemOf("agents:\n  - name: a\n    timeout: 5m\n    name: b")).toMatchObject({
      code: "DUPLICATE_KEY",
      message: 'Duplicate key "name", first in line 2: remove one',
      line: 4,
      column: 5,
    });
  });

  it("with two duplicate keys has two problems", () => {
    expect(problemsOf("version: 1\nversion: 1\nagents:\n  - { name: a, name: b }")).toHaveLength(2);
  });

  it("may have keys that YAML reads as numbers", () => {
    expect(problemOf("agents: [{ name: a, schedules: { 007: { type: nver } } }]").where).toContain(
      'schedule "007"',
    );
  });
});

describe("an excessive YAML text", () => {
  it("is rejected by its length", () => {
    expect(problemOf(`# ${"x".repeat(2_000_000)}`).code).toBe("TOO_LARGE");
  });

  it("is rejected by the number of its values", () => {
    expect(problemOf(`agents: [${"a,".repeat(250_000)}]`).code).toBe("TOO_LARGE");
  });

  it("is rejected by the number of its quotes, which the parser would match slowly", () => {
    expect(problemOf(`agents: []\nx-a: ${'"'.repeat(250_000)}`).code).toBe("TOO_LARGE");
  });

  it("is rejected by its depth, at the position", () => {
    const text = `agents: []\nx-deep: ${"[".repeat(60)}${"]".repeat(60)}`;
    expect(problemOf(text)).toMatchObject({ code: "TOO_LARGE", line: 2 });
  });

  it.each([
    ["lists", `agents: ${"[".repeat(190_000)}`, 109],
    ["maps", `agents: ${"{a: ".repeat(40_000)}`, 409],
    ["items", "- ".repeat(90_000), 201],
    ["keys", "? ".repeat(90_000), 201],
    ["named items", "- &a !b ".repeat(20_000), 801],
    ["indents", Array.from({ length: 1_500 }, (_, indent) => `${" ".repeat(indent)}a:`).join("\n"), 1],
  ])("is rejected before its nested %s exhaust the parser's stack", (_, text, column) => {
    expect(problemOf(text)).toMatchObject({ code: "TOO_LARGE", column });
  });

  it("is not a text with many brackets in strings", () => {
    const prompt = `${"[".repeat(300)}${"- ".repeat(300)}`;
    const lines = [`a: "${prompt}"`, `b: x${prompt}x`, `c: |\n  ${prompt}`, `# ${prompt}`];
    expect(problemOf(`agents: 5\nx-texts:\n  ${lines.join("\n  ").replace("|\n  ", "|\n    ")}`).line).toBe(
      1,
    );
  });

  it("is rejected at the alias that exceeds the limit", () => {
    const levels = Array.from({ length: 9 }, (_, level) => {
      const inner = level === 0 ? "x" : `*a${level - 1}`;
      return `a${level}: &a${level} [${Array.from({ length: 9 }, () => inner).join(", ")}]`;
    });
    expect(problemOf(`x-bomb:\n  ${levels.join("\n  ")}\nagents: []`)).toMatchObject({
      code: "TOO_LARGE",
      message: "The aliases up to here expand to more than 100000 values",
      where: expect.stringMatching(/^x-bomb, a\d/) as string,
    });
  });

  it("may have many keys in one map", () => {
    const keys = Array.from({ length: 10_000 }, (_, index) => `  k${index}: 1`).join("\n");
    expect(problemOf(`x-many:\n${keys}\nagents: 5`).line).toBe(10_002);
  });
});
