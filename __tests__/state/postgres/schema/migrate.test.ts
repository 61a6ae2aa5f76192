import { Pool } from "pg";
import { describe, expect, inject, it, onTestFinished } from "vitest";
import { migrate, SCHEMA_VERSION } from "../../../../src/state/postgres/schema/migrate.js";
import { unmadeSchema, sharedPool } from "../schema.js";

const versionsOf = async (schema: string): Promise<unknown[]> =>
  (await sharedPool().query(`select number from "${schema}".migrations order by number`)).rows;

const VERSIONS = Array.from({ length: SCHEMA_VERSION }, (_, index) => ({ number: index + 1 }));

/** Of sessions in which the server says that it is another: what it is asked is looked up in a schema before its own. */
async function poolOfVersion(number: number): Promise<Pool> {
  const pretended = unmadeSchema();
  await sharedPool().query(`create schema "${pretended}";
    create function "${pretended}".current_setting(text) returns text language sql as $$
      select case $1 when 'server_version_num' then '${number}' else pg_catalog.current_setting($1) end $$`);
  const options = `-c search_path=${pretended},pg_catalog`;
  const pool = new Pool({ connectionString: inject("databaseUrl"), options });
  onTestFinished(() => pool.end());
  return pool;
}

describe("migrating", () => {
  it("makes the schema, once however often it is asked", async () => {
    const schema = unmadeSchema();
    await migrate(sharedPool(), schema);
    await migrate(sharedPool(), schema);
    expect(await versionsOf(schema)).toEqual(VERSIONS);
  });

  it("is done once when 50 connections ask at the same time", async () => {
    const schema = unmadeSchema();
    const pool = new Pool({ connectionString: inject("databaseUrl"), max: 50 });
    onTestFinished(() => pool.end());
    const asked = await Promise.allSettled(Array.from({ length: 50 }, () => migrate(pool, schema)));
    expect(asked.filter(({ status }) => status === "rejected")).toEqual([]);
    expect(await versionsOf(schema)).toEqual(VERSIONS);
  });

  it("refuses a schema that is newer than it knows, and leaves it as it is", async () => {
    const schema = unmadeSchema();
    await migrate(sharedPool(), schema);
    await sharedPool().query(`insert into "${schema}".migrations (number) values (99)`);
    await expect(migrate(sharedPool(), schema)).rejects.toMatchObject({
      code: "STATE_DATABASE",
      message: expect.stringContaining("has version 99") as string,
    });
    expect(await versionsOf(schema)).toEqual([...VERSIONS, { number: 99 }]);
  });

  it("leaves nothing behind when it cannot be finished", async () => {
    const schema = unmadeSchema();
    await sharedPool().query(`create schema "${schema}"; create table "${schema}".jobs (other integer)`);
    await expect(migrate(sharedPool(), schema)).rejects.toMatchObject({ code: "STATE_DATABASE" });
    const { rows } = await sharedPool().query("select tablename from pg_tables where schemaname = $1", [
      schema,
    ]);
    expect(rows).toEqual([{ tablename: "jobs" }]);
  });

  it.each([
    [90_624, 9],
    [130_011, 13],
  ])("refuses a server whose version is %i, and makes nothing", async (number, major) => {
    const schema = unmadeSchema();
    const pool = await poolOfVersion(number);
    await expect(migrate(pool, schema)).rejects.toMatchObject({
      code: "STATE_DATABASE",
      message: `The server is PostgreSQL ${major}: this version of Rota needs 14 or newer.`,
    });
    const { rowCount } = await sharedPool().query("select from pg_namespace where nspname = $1", [schema]);
    expect(rowCount).toBe(0);
  });

  it("takes the first server that has all it needs", async () => {
    await expect(migrate(await poolOfVersion(140_000), unmadeSchema())).resolves.toEqual({
      from: 0,
      to: SCHEMA_VERSION,
    });
  });

  it.each(["", "a".repeat(64), "a\0b", 'a"b', "a'b", "$$", "1a"])(
    "refuses %j as the name of a schema",
    async (schema) => {
      await expect(migrate(sharedPool(), schema)).rejects.toMatchObject({ code: "INVALID_STATE" });
    },
  );
});
