/**
 * How many connections of a pool are taken by stores that listen for changes: each keeps one for as long as it is open.
 * With none left every statement would wait for one for good, and nobody would be told why.
 */
import { invalidState } from "../../errors.js";
import type { PostgresPool } from "./database.js";

const taken = new WeakMap<PostgresPool, number>();

/** Takes one, and answers how to give it back. Throws when none would be left for statements. */
export function takeListeningPlace(pool: PostgresPool): () => void {
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
