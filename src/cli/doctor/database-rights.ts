/** May this user do in the database what a scheduler does there? Its rights are looked at, and none is tried out. */
import type { Database } from "../../state/postgres/connection/database.js";
import { SCHEMA_VERSION } from "../../state/postgres/schema/migrate.js";
import { failure, fine, type Finding, warning } from "./finding.js";

/** What the database says of itself and of who asks. */
export interface DatabaseFacts {
  readonly user: string;
  readonly isStandby: boolean;
  readonly isReadOnly: boolean;
  /** Whether the user may make schemas. */
  readonly mayMake: boolean;
  readonly hasSchema: boolean;
  /** Whether the user may make tables in the schema. */
  readonly mayFill: boolean;
  readonly hasMigrations: boolean;
}

/** All that a schema has. Who else may have tables in it is no business of ours. */
export const TABLES: readonly string[] = [
  "agents",
  "changes",
  "job_output_blocks",
  "job_outputs",
  "jobs",
  "leases",
  "migrations",
  "nodes",
  "polls",
  "queue",
  "receipts",
  "running",
  "schedules",
  "states",
];
/** Those of identity columns ask for no right of their own. */
const SEQUENCE = "job_number";
export const ASK_OWNER = "have the owner of the schema grant it";
/** Beyond so many a list helps nobody. */
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

/** Whether it takes what is written; `name`: the database as people are told of it. */
export function judgeServer(name: string, { user, isStandby, isReadOnly }: DatabaseFacts): Finding {
  const about = "database";
  if (isStandby) return failure(about, `${name} is a standby, which can only be read: name the primary`);
  if (isReadOnly)
    return failure(
      about,
      `${name} can only be read by ${user}: default_transaction_read_only is on, and has to be off`,
    );
  return fine(about, name);
}

/** Whether the schema is there, or can be made by who asks. */
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
      `${schema}.migrations is there and empty, as Rota never leaves it: restore what was in the schema, drop it, ` +
        "or name another with --database-schema",
    );
  if (!mayMake || (hasSchema && !mayFill))
    return failure(
      about,
      `${schema} is not made yet, and ${user} may not make it: have one who may call \`rota migrate\`, or grant ` +
        `${user} create on the database${hasSchema ? " and the schema" : ""}`,
    );
  return fine(about, `${schema} is not there yet: the first scheduler makes it`);
}

/** What the user may not do with the tables of a schema that is there, "DELETE on jobs"; empty where nothing is missing. */
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
  if (missing.length === 0) return fine(about, `${user} has all that a scheduler needs`);
  const more = missing.length > MOST_RIGHTS ? ` and ${missing.length - MOST_RIGHTS} more` : "";
  return failure(about, `${user} has no ${missing.slice(0, MOST_RIGHTS).join(", no ")}${more}: ${ASK_OWNER}`);
}
