/** A watch in a separate process, by the real clock: it reports a change, and does not keep the process alive. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { Child } from "../../state/child.js";
import { directoryWith } from "../config-directory.js";

const PROGRAM = new URL("processes/watch.js", import.meta.url).href;

it("a watch reports a change, and does not keep the process alive", async () => {
  const directory = directoryWith({ "rota.yaml": "agents: [{ name: one }]" });
  await using child = new Child(PROGRAM, [join(directory, "rota.yaml")]);
  await child.line((line) => line === "watching");
  writeFileSync(join(directory, "rota.yaml"), "agents: [{ name: one }, { name: two }]");
  await child.line((line) => line === "agents: one two");
  child.say("enough");
  await child.end();
  expect(child.exitCode).toBe(0);
});
