import { Client } from "pg";
import { describe, expect, it } from "vitest";
import { PostgresStore, type PostgresStoreOptions } from "../../../src/state/postgres/index.js";
import { sharedPool } from "./schema.js";

const ADDRESS =
  "Invalid connectionString: expected an address such as postgres://user:password@host:5432/database.";
const POOL = "Invalid pool: expected a Pool of pg.";

/** What a program without types may give. */
function given(options: unknown): PostgresStoreOptions {
  return options as PostgresStoreOptions;
}

describe("a PostgresStore", () => {
  it.each<[what: string, options: PostgresStoreOptions, message: string]>([
    ["no database", {}, "A PostgresStore needs a connectionString or a pool, and not both."],
    ["no options", given(undefined), "A PostgresStore needs a connectionString or a pool, and not both."],
    ["an address that is empty", { connectionString: "" }, ADDRESS],
    ["an address of another database", { connectionString: "mysql://user:secret@host/database" }, ADDRESS],
    ["an address without its beginning", { connectionString: "user:secret@host:5432/database" }, ADDRESS],
    ["an address that is no text", given({ connectionString: new URL("postgres://host/database") }), ADDRESS],
    ["a pool that is none", given({ pool: {} }), POOL],
    ["an address in place of a pool", given({ pool: "postgres://host/database" }), POOL],
    ["nothing in place of a pool", given({ pool: null }), POOL],
    ["a client in place of a pool", given({ pool: new Client() }), POOL],
    [
      "two databases",
      { connectionString: "postgres://h/d", pool: sharedPool() },
      "A PostgresStore needs a connectionString or a pool, and not both.",
    ],
    [
      "a schema that no text can hold",
      { pool: sharedPool(), schema: "a-b" },
      'Invalid schema "a-b": expected up to 63 letters, digits and underscores, no digit first.',
    ],
    [
      "a name that shows nothing",
      { pool: sharedPool(), nodeName: " " },
      'Invalid nodeName " ": expected a text that identifies the node.',
    ],
    [
      "a name that no column can hold",
      { pool: sharedPool(), nodeName: "a\0" },
      'Invalid nodeName "a\\u0000": expected a text that identifies the node.',
    ],
    [
      "an age of jobs that is no number",
      { pool: sharedPool(), jobs: { maxAgeDays: NaN } },
      "Invalid maxAgeDays NaN: expected a number from 0, or Infinity for no limit.",
    ],
    [
      "an age of jobs below zero",
      { pool: sharedPool(), jobs: { maxAgeDays: -1 } },
      "Invalid maxAgeDays -1: expected a number from 0, or Infinity for no limit.",
    ],
    [
      "a number of jobs that is none",
      { pool: sharedPool(), jobs: { maxJobs: NaN } },
      "Invalid maxJobs NaN: expected a number from 0, or Infinity for no limit.",
    ],
    [
      "a number of jobs below zero",
      { pool: sharedPool(), jobs: { maxJobs: -0.5 } },
      "Invalid maxJobs -0.5: expected a number from 0, or Infinity for no limit.",
    ],
  ])("refuses %s when it is made", (_, options, message) => {
    const refusal: unknown = expect.objectContaining({ name: "StateError", code: "INVALID_STATE", message });
    expect(() => new PostgresStore(options)).toThrow(refusal);
  });

  it("repeats no password of an address that it refuses", () => {
    const connectionString = "mysql://user:secret@host/database";
    expect(() => new PostgresStore({ connectionString })).toThrow(/^(?!.*secret)/);
  });

  it.each([
    "postgres://user:password@host:5432/database",
    "postgresql://user@host/database?sslmode=require",
    "postgres://user@/database?host=/var/run/postgresql",
    "socket:/var/run/postgresql?db=database",
    "/var/run/postgresql database",
  ])("takes an address that pg takes: %s", (connectionString) => {
    expect(new PostgresStore({ connectionString })).toBeInstanceOf(PostgresStore);
  });
});
