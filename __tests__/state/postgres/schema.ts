/** A schema of its own for a test, in the server that the run shares. */
import pg from "pg";
import { inject, onTestFinished } from "vitest";
import { randomToken } from "../../../src/random.js";

let shared: pg.Pool | undefined;

/** One pool for all tests of a file; it does not keep the process. */
export function sharedPool(): pg.Pool {
  shared ??= new pg.Pool({ connectionString: inject("databaseUrl"), max: 10, allowExitOnIdle: true });
  return shared;
}

/** A name that no other test has; the schema is gone at the end of the test. */
export function newSchema(): string {
  const schema = `test_${randomToken()}`;
  onTestFinished(() => dropSchema(schema));
  return schema;
}

export async function dropSchema(schema: string): Promise<void> {
  await sharedPool().query(`drop schema if exists "${schema}" cascade`);
}
