/** A schema of its own for a test, in the server that the run shares. */
import { Pool } from "pg";
import { afterAll, inject, onTestFinished } from "vitest";
import { randomToken } from "../../../src/random.js";
import { tableBreaches } from "./table-breaches.js";

/** Schemas that no test uses, with empty tables in them: making one takes ten times as long as emptying it. */
const idle: string[] = [];
const made: string[] = [];
let shared: Pool | undefined;

/** With all that refer to them. */
const TABLES = [
  "nodes",
  "agents",
  "schedules",
  "queue",
  "running",
  "leases",
  "polls",
  "changes",
  "receipts",
  "jobs",
  "job_outputs",
  "requests",
];

/** One pool for all tests of a file; it does not keep the process. */
export function sharedPool(): Pool {
  shared ??= new Pool({ connectionString: inject("databaseUrl"), max: 10, allowExitOnIdle: true });
  return shared;
}

/** The name of a schema that has never been made. */
export function unmadeSchema(): string {
  const schema = `test_${randomToken()}`;
  made.push(schema);
  return schema;
}

/** A schema that no other test uses meanwhile, empty or not made yet. */
export function newSchema(): string {
  const schema = idle.pop() ?? unmadeSchema();
  onTestFinished(async () => {
    const breaches = await tableBreaches(sharedPool(), schema);
    if (await isEmptied(schema)) idle.push(schema);
    if (breaches.length > 0) throw new Error(`The tables do not agree: ${breaches.join("; ")}.`);
  });
  return schema;
}

async function isEmptied(schema: string): Promise<boolean> {
  const tables = TABLES.map((table) => `"${schema}".${table}`).join(", ");
  try {
    await sharedPool().query(`truncate ${tables} restart identity cascade`);
    return true;
  } catch {
    return false;
  }
}

afterAll(async () => {
  for (const schema of made) await sharedPool().query(`drop schema if exists "${schema}" cascade`);
  await shared?.end();
  shared = undefined;
});
