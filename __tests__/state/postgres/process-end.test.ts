/** Whether a process ends that has a scheduler on PostgreSQL, and nothing else to do. */
import { fileURLToPath } from "node:url";
import { describe, expect, inject, it } from "vitest";
import { type Child, Children } from "../child.js";
import { unmadeSchema } from "./schema.js";

const PROGRAM = fileURLToPath(new URL("processes/idle-node.js", import.meta.url));

/** More passes than can be made before a process ends that is not kept. */
const MANY = 40;

function idleNode(children: Children, options: object, how: "url" | "pool"): Child {
  return children.start(PROGRAM, [inject("databaseUrl"), unmadeSchema(), JSON.stringify(options), how]);
}

describe("a process with a scheduler on PostgreSQL", () => {
  it.each(["url", "pool"] as const)("ends when the scheduler is not to keep it: %s", async (how) => {
    await using children = new Children();
    const child = idleNode(children, { unref: true }, how);
    await child.end();
    expect(child.lines).toContain("running");
    expect(child.exitCode).toBe(0);
  });

  it.each(["url", "pool"] as const)("does not end while the scheduler runs: %s", async (how) => {
    await using children = new Children();
    const child = idleNode(children, {}, how);
    await child.line((line) => line === "running");
    await child.linesOf("pass", MANY);
    expect(child.lines.filter((line) => line === "pass").length).toBeGreaterThanOrEqual(MANY);
    expect(child.exitCode).toBeNull();
  });
});
