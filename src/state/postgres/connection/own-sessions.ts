/**
 * Recognises a pooler between Rota and the server that gives the transactions of one connection to different sessions, as
 * PgBouncer does in transaction mode. Notifications and named statements belong to a session, so that they get lost there.
 */
import { StateError } from "../../errors.js";
import { AS_TEXT } from "../rows/column-text.js";
import { databaseError, OWN_SESSION_ADVICE, type PostgresClient, type PostgresPool } from "./database.js";

/**
 * Throws unless each connection has a session of its own. A pooler reuses the session that was free last, or all of them in
 * turn: one connection alone might stay in its session by chance, so that this takes two.
 */
export async function requireOwnSessions(pool: PostgresPool): Promise<void> {
  const clients: PostgresClient[] = [];
  let isDone = false;
  try {
    const first = await pool.connect();
    clients.push(first);
    const before = await sessionOf(first);
    const second = await pool.connect();
    clients.push(second);
    await second.query({ text: "begin" });
    const during = await sessionOf(second);
    // Not asked when both have the same session: a pooler with a single one would let the first wait for the second.
    const isShared = during === before || (await sessionOf(first)) !== before;
    await second.query({ text: "commit" });
    if (isShared || (await sessionOf(second)) !== during)
      throw new StateError(
        `A pooler in transaction mode is in front of the database: it moves connections between sessions. ${OWN_SESSION_ADVICE}`,
        { code: "STATE_DATABASE" },
      );
    isDone = true;
  } catch (error) {
    throw databaseError(error);
  } finally {
    for (const client of clients) client.release(!isDone);
  }
}

async function sessionOf(client: PostgresClient): Promise<unknown> {
  const { rows } = await client.query({ text: "select pg_backend_pid() as pid", types: AS_TEXT });
  return rows[0]?.["pid"];
}
