/** Checks whether the database user has the rights that a scheduler needs. Reads privileges, and tries no write. */
import type { Database } from "../../state/postgres/connection/database.js";
import { SCHEMA_VERSION } from "../../state/postgres/schema/migrate.js";
import { shortList } from "../format/counted.js";
import { failure, fine, type Finding, warning } from "./finding.js";

/** Facts about the server, the schema and the current user. */
export interface DatabaseFacts {
  readonly user: string;
  readonly isStandby: boolean;
  readonly isReadOnly: boolean;
  /** Whether the user may create schemas. */
  readonly mayMake: boolean;
  readonly hasSchema: boolean;
  /** Whether the user may create tables in the schema. */
  readonly mayFill: boolean;
  readonly hasMigrations: boolean;
}

/** Rota's tables. Other tables in the schema are ignored. */
export const TABLES: readonly string[] = [
  "agents",
  "changes",
  "job_output_blocks",
  "job_outputs",
  "jobs",
  "leases",
  "migrations",
  "node_names",
  "nodes",
  "polls",
  "queue",
  "receipts",
  "requests",
  "running",
  "schedules",
  "states",
];
/** The one sequence that needs a right. Sequences of identity columns need none. */
const SEQUENCE = "job_number";
export const ASK_OWNER = "ask the owner of the schema to grant it";
/** More rights would not help the reader. */
const MOST_RIGHTS = 3;

export async function readFacts(database: Database): Promise<DatabaseFacts> {
  const [row = {}] = await database.send({
    text: `select current_user as name, pg_is_in_recovery() as is_standby,
        current_setting('transaction_read_only') = 'on' as is_read_only,
        has_database_privilege(current_database(), 'CREATE') as may_make,
        to_regnamespace($1) is not null as has_schema,
        has_schema_privilege(to_regnamespace($1)::oid, 'CREATE') as may_fill,
        to_regclass($2) is not null as has_migrations`,
    values: [database.schema, `${database.schema}.migrations`],
  });
  const is = (column: string): boolean => row[column] === true;
  return {
    user: String(row["name"]),
    isStandby: is("is_standby"),
    isReadOnly: is("is_read_only"),
    mayMake: is("may_make"),
    hasSchema: is("has_schema"),
    mayFill: is("may_fill"),
    hasMigrations: is("has_migrations"),
  };
}

/** Whether the server accepts writes; `name`: the database, for messages. */
export function judgeServer(name: string, { user, isStandby, isReadOnly }: DatabaseFacts): Finding {
  const about = "database";
  if (isStandby) return failure(about, `${name} is a standby, which is read-only: use the primary`);
  if (isReadOnly)
    return failure(
      about,
      `${name} is read-only for ${user}: default_transaction_read_only is on, and must be off`,
    );
  return fine(about, name);
}

/** Whether the schema exists, or the user can create it. */
export function judgeSchema(schema: string, version: number, facts: DatabaseFacts): Finding {
  const about = "schema";
  const { user, hasMigrations, hasSchema, mayFill, mayMake } = facts;
  if (version === SCHEMA_VERSION) return fine(about, `${schema}, version ${version}`);
  if (version > 0)
    return warning(
      about,
      `version ${version}: \`rota migrate\`, or the next scheduler, brings it to ${SCHEMA_VERSION}`,
    );
  if (hasMigrations)
    return failure(
      about,
      `${schema}.migrations exists but is empty, which Rota never writes: restore the schema's content, drop the schema, ` +
        "or choose a different one with --database-schema",
    );
  if (!mayMake || (hasSchema && !mayFill))
    return failure(
      about,
      `${schema} does not exist yet, and ${user} may not create it: run \`rota migrate\` as a user who may, or grant ` +
        `${user} create on the database${hasSchema ? " and the schema" : ""}`,
    );
  return fine(about, `${schema} does not exist yet: the first scheduler creates it`);
}

/** The user's missing rights on the tables of an existing schema, such as "DELETE on jobs". */
export async function missingRights(database: Database): Promise<readonly string[]> {
  const rows = await database.send({
    text: `select r.privilege || ' on ' || c.relname as missing
      from pg_class c cross join unnest(array['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'USAGE']) as r (privilege)
      where c.relnamespace = to_regnamespace($1) and case
        when c.relname = $3 then r.privilege = 'USAGE' and not has_sequence_privilege(c.oid, 'USAGE')
        when c.relname = 'migrations' then r.privilege = 'SELECT' and not has_table_privilege(c.oid, 'SELECT')
        when c.relname = any ($2) then r.privilege <> 'USAGE' and not has_table_privilege(c.oid, r.privilege)
        else false end
      order by c.relname, r.privilege`,
    values: [database.schema, TABLES, SEQUENCE],
  });
  return rows.map(({ missing }) => String(missing));
}

export function judgeRights(user: string, missing: readonly string[]): Finding {
  const about = "rights";
  if (missing.length === 0) return fine(about, `${user} has all rights that a scheduler needs`);
  const rights = missing.map((right) => `no ${right}`);
  return failure(about, `${user} has ${shortList(rights, MOST_RIGHTS)}: ${ASK_OWNER}`);
}
