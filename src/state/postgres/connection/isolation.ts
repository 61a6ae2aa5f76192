/**
 * Checks the isolation level. Every statement relies on read committed: after waiting for a lock it sees what was committed
 * meanwhile. With the stricter default of some roles or servers it would count capacity on outdated rows.
 */
import type { PoolClient } from "pg";
import { quote } from "../../../errors.js";
import type { Fields } from "../../../fields.js";
import { StateError } from "../../errors.js";

const NEEDED = "read committed";

/** For pools that Rota creates. Not a startup option: the user may have set some, and a pooler may refuse them. */
export function beginReadCommitted(client: PoolClient, done: (error?: Error) => void): void {
  const text = `set session characteristics as transaction isolation level ${NEEDED}`;
  client.query(text, (error: Error | null) => done(error ?? undefined));
}

/** Throws for a pool of the caller with a different default. */
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
