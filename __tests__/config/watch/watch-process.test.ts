/** A watch in a process of its own, by the real clock: it notices, and it does not keep the process from ending. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { Child } from "../../state/child.js";
import { directoryWith } from "../config-directory.js";

const PROGRAM = new URL("processes/watch.js", import.meta.url).href;

it("a watch tells of a change, and lets the process end when it has nothing else to do", async () => {
  const directory = directoryWith({ "rota.yaml": "agents: [{ name: one }]" });
  await using child = new Child(PROGRAM, [join(directory, "rota.yaml")]);
  await child.line((line) => line === "watching");
  writeFileSync(join(directory, "rota.yaml"), "agents: [{ name: one }, { name: two }]");
  await child.line((line) => line === "agents: one two");
  child.say("enough");
  await child.end();
  expect(child.exitCode).toBe(0);
});
