/** Processes that start at once on a schema that none of them has made yet. */
import { fileURLToPath } from "node:url";
import { inject } from "vitest";
import { Children } from "../../child.js";
import { sharedPool, unmadeSchema } from "../schema.js";

export interface Migrated {
  /** What each process says: it opened and claimed what is its own. */
  readonly said: readonly string[];
  readonly expected: readonly string[];
  /** How often each migration is noted. */
  readonly migrations: readonly unknown[];
}

export async function runMigratingProcesses(count: number): Promise<Migrated> {
  const schema = unmadeSchema();
  await using children = new Children();
  const program = fileURLToPath(new URL("../processes/migrate-schema.js", import.meta.url));
  const names = Array.from({ length: count }, (_, index) => `n${index}`);
  const nodes = names.map((name) => children.start(program, [inject("databaseUrl"), schema, name]));
  await Promise.all(nodes.map((node) => node.line((line) => line === "waits")));
  for (const node of nodes) node.say("go");
  const said = await Promise.all(nodes.map((node) => node.line((line) => line !== "waits")));
  await Promise.all(nodes.map((node) => node.end()));
  const { rows } = await sharedPool().query(
    `select number, count(*)::int as times from "${schema}".migrations group by number having count(*) <> 1`,
  );
  return { said, expected: names.map((name) => `opened, claims ${name}`), migrations: rows };
}
