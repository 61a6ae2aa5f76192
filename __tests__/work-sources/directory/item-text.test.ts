/** The parser of an item's file. */
import { describe, expect, it } from "vitest";
import { readItemText } from "../../../src/work-sources/directory/item-text.js";

const FULL = `title: Fix the login
description: It is broken.
priority: high
labels: [bug, web]
url: https://example.com/7
created_at: 2026-03-01T09:00:00Z
size: 3
owner: { team: web }
`;

const fullItem = {
  title: "Fix the login",
  priority: "high",
  labels: ["bug", "web"],
  url: "https://example.com/7",
  createdAt: new Date("2026-03-01T09:00:00Z"),
  metadata: { size: 3, owner: { team: "web" } },
};

describe("a YAML file", () => {
  it.each(["a.yaml", "a.yml", "a.YAML"])("called %s becomes an item with all its keys", (name) => {
    expect(readItemText(name, FULL)).toEqual({ ...fullItem, description: "It is broken." });
  });

  it("without a title has the name of its file as title", () => {
    expect(readItemText("fix.the.login.yaml", "size: 3")).toMatchObject({ title: "fix.the.login" });
  });

  it("needs none of the known keys", () => {
    expect(readItemText("a.yaml", "size: 3\npriority:\nurl: ~")).toEqual({
      title: "a",
      description: "",
      priority: "medium",
      labels: [],
      url: undefined,
      createdAt: undefined,
      metadata: { size: 3 },
    });
  });
});

describe("a JSON file", () => {
  it("is an item with all its keys", () => {
    const text = JSON.stringify({ title: "t", priority: "low", size: 3 });
    expect(readItemText("a.json", text)).toMatchObject({
      title: "t",
      priority: "low",
      metadata: { size: 3 },
    });
  });

  it("keeps a key that objects inherit, such as constructor", () => {
    const item = readItemText("a.json", '{ "__proto__": { "title": "no" } }');
    expect(item).toMatchObject({ title: "a" });
    expect(JSON.stringify(item)).toContain('"metadata":{"__proto__":{"title":"no"}}');
  });
});

describe("a Markdown file", () => {
  it("with front matter is an item with all its keys, and the text below", () => {
    const { description: _, ...rest } = { ...fullItem, description: "" };
    const text = `---\n${FULL.replace(/^description.*\n/m, "")}---\n\n# Heading\n\nDo it.\n`;
    expect(readItemText("a.md", text)).toEqual({ ...rest, description: "# Heading\n\nDo it." });
  });

  it("with a description and a text below has both", () => {
    const text = "---\ndescription: Above.\n---\nBelow.";
    expect(readItemText("a.md", text)).toMatchObject({ description: "Above.\n\nBelow." });
  });

  it.each([
    ["its first heading", "Text.\n\n## Fix it ##\n# Later", "Fix it"],
    ["the heading below its front matter", "---\nsize: 3\n---\n# Fix it", "Fix it"],
    ["the heading after code", "```sh\n# no heading\n```\n# Fix it", "Fix it"],
    ["the file's name, without a heading,", "Text, #7.\n#tag\n#\n", "a"],
    ["the file's name, with front matter alone,", "---\nsize: 3\n---", "a"],
    ["the heading after empty front matter", "---\n---\n# Fix it", "Fix it"],
    ["the heading, with CRLF line ends,", "---\r\nsize: 3\r\n---\r\n# Fix it\r\n", "Fix it"],
    ["the heading, with front matter that is not closed,", "---\n# Fix it\n", "Fix it"],
  ])("without a title has %s as title", (_, text, title) => {
    expect(readItemText("a.md", text)).toMatchObject({ title });
  });

  it("may have a horizontal rule in its text", () => {
    const text = "---\ntitle: t\n---\nabove\n\n---\n\nbelow";
    expect(readItemText("a.md", text)).toMatchObject({ title: "t", description: "above\n\n---\n\nbelow" });
  });
});

describe("an invalid item file", () => {
  it.each([
    ["is empty", "a.md", " \n"],
    ["cannot be parsed", "a.yaml", "title: [\n"],
    ["cannot be parsed", "a.yaml", "title: a\ntitle: b"],
    ["cannot be parsed", "a.json", '{"title": }'],
    ["cannot be parsed", "a.md", "---\ntitle: 'a\n---\n"],
    ["is not a map of keys and values", "a.yaml", "- a\n- b"],
    ["is not a map of keys and values", "a.json", '"text"'],
    ["is not a map of keys and values", "a.md", "---\njust text\n---\n"],
    ['has the priority "urgent", expected critical, high, medium, low', "a.yaml", "priority: urgent"],
    ["has values that JSON cannot represent", "a.yaml", "a: &a [*a]"],
    ["cannot be parsed: Excessive alias count", "a.yaml", bomb()],
  ])("%s: %s", (problem, name, text) => {
    expect(readItemText(name, text)).toEqual({ problem: expect.stringContaining(problem) });
  });
});

/** A few hundred bytes that expand to 10⁹ values. */
function bomb(): string {
  const lines = ["a0: &a0 [x,x,x,x,x,x,x,x,x,x]"];
  for (let level = 1; level < 9; level++)
    lines.push(
      `a${level}: &a${level} [${Array(10)
        .fill(`*a${level - 1}`)
        .join()}]`,
    );
  return lines.join("\n");
}
