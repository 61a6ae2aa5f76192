/** What a schema consists of, to compare a migrated database with a new one. */
import { sharedPool } from "../schema.js";

/** The columns and indexes of a schema, in one order. */
export async function tablesOf(schema: string): Promise<readonly unknown[]> {
  const { rows } = await sharedPool().query(
    `select c.table_name || '.' || c.column_name as name, c.data_type, c.is_nullable,
        replace(coalesce(c.column_default, ''), $1, 'schema') as details
        from information_schema.columns c where c.table_schema = $1
      union all select i.indexname, '', '', replace(i.indexdef, $1, 'schema') from pg_indexes i where i.schemaname = $1
      order by 1`,
    [schema],
  );
  return rows;
}

/** The functions of a schema with their sources, in one order. */
export async function functionsOf(schema: string): Promise<readonly unknown[]> {
  const { rows } = await sharedPool().query(
    `select p.proname || '(' || pg_get_function_identity_arguments(p.oid) || ')' as name,
        replace(p.prosrc, $2, 'schema') as source
      from pg_proc p where p.pronamespace = $1::regnamespace order by 1`,
    [`"${schema}"`, schema],
  );
  return rows;
}
