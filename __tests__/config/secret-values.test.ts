/** Replaces each value by a variable, one at a time: no message shows the value of the variable. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parseDocument, visit } from "yaml";
import { ConfigError } from "../../src/scheduler/definition/errors.js";
import { parseConfig } from "../../src/config/parse-config.js";

const whole = readFileSync(new URL("fixtures/every-key.yaml", import.meta.url), "utf8");
const SECRET = "hunter2, 5x";

/** The file with a variable instead of the value with the index; `undefined` beyond the last value. */
function withVariableAt(index: number): string | undefined {
  const document = parseDocument(whole);
  let count = 0;
  let isPut = false;
  visit(document, {
    Scalar(key, node) {
      if (key === "key") return;
      if (count++ === index) {
        node.value = "${SECRET}";
        delete node.type;
        isPut = true;
      }
    },
  });
  return isPut ? String(document) : undefined;
}

function saidOf(text: string): string | undefined {
  try {
    parseConfig(text, { file: "/etc/fleet/rota.yaml", env: { SECRET } });
    return undefined;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return `${error.message}${JSON.stringify(error.problems)}`;
  }
}

describe("the value of a variable", () => {
  it("is not shown, wherever the variable is", () => {
    const said: string[] = [];
    let count = 0;
    for (let text = withVariableAt(0); text !== undefined; text = withVariableAt(++count)) {
      const refusal = saidOf(text);
      if (refusal !== undefined) said.push(refusal);
    }
    expect(count).toBeGreaterThan(100);
    expect(said.length).toBeGreaterThan(50);
    expect(said.filter((words) => /hunter2|5x/.test(words))).toEqual([]);
  });
});
