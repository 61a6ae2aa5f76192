/**
 * Counts the connections of a pool that open stores keep to listen for changes. Without a connection for statements every
 * statement would wait forever, so a store that would take the last one is refused.
 */
import { invalidState } from "../../errors.js";
import type { PostgresPool } from "./database.js";

const taken = new WeakMap<PostgresPool, number>();

/** Takes a connection, and returns how to give it back. Throws when no connection would be left for statements. */
export function takeListenerSlot(pool: PostgresPool): () => void {
  const before = taken.get(pool) ?? 0;
  const most = pool.options?.max ?? Infinity;
  if (before + 1 >= most)
    throw invalidState(
      `The pool has room for ${most === 1 ? "1 connection" : `${most} connections`}, and ${before} of them listen for open stores: ` +
        "one more would leave none for statements. Give it a larger max, or this store a pool of its own.",
    );
  taken.set(pool, before + 1);
  let isTaken = true;
  return () => {
    if (isTaken) taken.set(pool, (taken.get(pool) ?? 1) - 1);
    isTaken = false;
  };
}
