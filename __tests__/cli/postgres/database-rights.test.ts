/** `rota doctor` for database users with missing rights. */
import { describe, expect, it, onTestFinished } from "vitest";
import { type DatabaseFacts, judgeServer, TABLES } from "../../../src/cli/doctor/database-rights.js";
import { TransactionPooler } from "../../state/postgres/connection/transaction-pooler.js";
import { sharedPool } from "../../state/postgres/schema.js";
import { runDoctor } from "../run-doctor.js";
import { Scene } from "../scene.js";
import type { Terminal } from "../terminal.js";
import { DatabaseScene } from "./database-scene.js";
import { GRANTS, UserScene } from "./user-scene.js";

/** The failures as "about: message". */
function failures({ lines }: Terminal): string[] {
  const failed = lines.filter((line) => line.startsWith("✗"));
  return failed.map((line) => line.replace(/^✗ (.*?)  +/, "$1: "));
}

describe("rota doctor on a database", () => {
  it("finds no problem for a user with all rights", async () => {
    const scene = await UserScene.onTables(...GRANTS);
    expect(await runDoctor(scene)).toBe(0);
    expect(scene.out).toContain(`✓ rights           ${scene.user} has all rights that a scheduler needs\n`);
  });

  it.each([
    ["the schema", GRANTS.slice(1), "permission denied for schema"],
    ["tables", GRANTS.with(1, ""), "permission denied for table migrations"],
    [
      "the sequence",
      GRANTS.slice(0, 2),
      "has no USAGE on job_number: ask the owner of the schema to grant it",
    ],
    [
      "one table",
      [...GRANTS, "revoke delete on :schema.nodes from :user"],
      "has no DELETE on nodes: ask the owner of the schema to grant it",
    ],
  ])("fails for a user without rights on %s", async (_, given, message) => {
    const scene = await UserScene.onTables(...given.filter((text) => text !== ""));
    expect(await runDoctor(scene)).toBe(1);
    expect(failures(scene)).toEqual([expect.stringMatching(/^rights: /)]);
    expect(failures(scene)[0]).toContain(message);
    expect(failures(scene)[0]).toContain("ask the owner of the schema to grant it");
  });

  it.each([
    [[], "on the database"],
    [
      ["create schema :schema", "grant create, usage on schema :schema to :user"],
      "on the database and the schema",
    ],
  ])("fails for an empty database when the user may not create the schema, with %j", async (given, where) => {
    const scene = await UserScene.onNothing(...given);
    expect(await runDoctor(scene)).toBe(1);
    expect(failures(scene)).toEqual([
      `schema: ${scene.schema} does not exist yet, and ${scene.user} may not create it: ` +
        `run \`rota migrate\` as a user who may, or grant ${scene.user} create ${where}`,
    ]);
    // `create schema if not exists` needs the right to create schemas even when the schema exists.
    expect(await scene.run("migrate")).toBe(1);
  });

  it("fails for a read-only user", async () => {
    const scene = await UserScene.onTables(
      ...GRANTS,
      "alter role :user set default_transaction_read_only = on",
    );
    expect(await runDoctor(scene)).toBe(1);
    expect(failures(scene)).toEqual([
      expect.stringMatching(/^database: .*default_transaction_read_only is on/),
    ]);
  });

  it("fails on a standby", () => {
    const facts: DatabaseFacts = {
      user: "me",
      isStandby: true,
      isReadOnly: true,
      mayMake: true,
      hasSchema: true,
      mayFill: true,
      hasMigrations: true,
    };
    expect(judgeServer("postgres://db/app", facts)).toEqual({
      about: "database",
      verdict: "failure",
      message: "postgres://db/app is a standby, which is read-only: use the primary",
    });
  });

  it("fails behind a pooler in transaction mode, and says what to change", async () => {
    const scene = await DatabaseScene.made();
    const pooler = await TransactionPooler.to(scene.url, 3);
    onTestFinished(() => pooler[Symbol.asyncDispose]());
    Object.assign(scene, { url: pooler.url });
    expect(await runDoctor(scene)).toBe(1);
    expect(failures(scene)).toEqual([
      expect.stringMatching(/^database: A pooler in transaction mode .* pool_mode = session\.$/),
    ]);
  });

  it("fails when the table of migrations is empty", async () => {
    const scene = DatabaseScene.unmade();
    await scene.run("migrate");
    await sharedPool().query(`delete from "${scene.schema}".migrations`);
    expect(await runDoctor(scene)).toBe(1);
    expect(failures(scene)).toEqual([
      expect.stringContaining(`schema: ${scene.schema}.migrations exists but is empty`),
    ]);
  });

  it.each([
    ["localhost", "Invalid --database-url: expected postgres://"],
    ["postgres://db/app#@", "Invalid --database-url: expected postgres://"],
  ])("fails for the address %s", async (url, message) => {
    const scene = new Scene();
    expect(await runDoctor(scene, "--database-url", url)).toBe(1);
    expect(failures(scene)).toEqual([expect.stringContaining(`database: ${message}`)]);
  });

  it("checks the rights on every table of the schema", async () => {
    const { schema } = await DatabaseScene.made();
    const { rows } = await sharedPool().query<{ name: string }>(
      "select relname as name from pg_class where relnamespace = to_regnamespace($1) and relkind = 'r'",
      [schema],
    );
    expect(rows.map(({ name }) => name).toSorted()).toEqual(TABLES);
  });
});
