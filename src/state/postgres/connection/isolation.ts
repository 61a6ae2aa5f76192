/**
 * The isolation level that all statements count on: whoever has waited for a lock sees what was done meanwhile. A role, a
 * database or a server may have another as its default, by which capacity would be counted on what is no more.
 */
import type { PoolClient } from "pg";
import { quote } from "../../../errors.js";
import type { Fields } from "../../../fields.js";
import { StateError } from "../../errors.js";

const NEEDED = "read committed";

/** Of a pool that is made here. Not a startup option: the user may have some, and a pooler between may refuse any. */
export function beginReadCommitted(client: PoolClient, done: (error?: Error) => void): void {
  const text = `set session characteristics as transaction isolation level ${NEEDED}`;
  client.query(text, (error: Error | null) => done(error ?? undefined));
}

/** Refuses sessions that begin otherwise, which only their owner can change. */
export async function requireReadCommitted(database: {
  send(query: { readonly text: string }): Promise<readonly Fields[]>;
}): Promise<void> {
  const [row] = await database.send({ text: "select current_setting('transaction_isolation') as level" });
  const level = row?.["level"];
  if (level === NEEDED) return;
  throw new StateError(
    `The pool's transactions are ${quote(level)} by default: a PostgresStore needs ${quote(NEEDED)}, or agents would ` +
      "exceed their capacity. Set default_transaction_isolation to it for the role or the database, or give the pool " +
      String.raw`the options "-c default_transaction_isolation=read\ committed".`,
    { code: "STATE_DATABASE" },
  );
}
