/** How long a claim lasts that is not renewed: what may be asked for, and what it is when nobody asks. */
import { quote } from "../errors.js";
import { invalidState } from "./errors.js";

const DEFAULT_LEASE_MS = 30_000;
/** It is renewed three times in a lease, and a busy machine stands still for longer than a few milliseconds. */
const SHORTEST_LEASE_MS = 100;

/** In milliseconds. Throws when it is no length that a lease can have. */
export function leaseLength(leaseMs: number = DEFAULT_LEASE_MS): number {
  if (Number.isFinite(leaseMs) && leaseMs >= SHORTEST_LEASE_MS) return leaseMs;
  throw invalidState(
    `Invalid leaseMs ${quote(leaseMs)}: expected a number of milliseconds from ${SHORTEST_LEASE_MS}.`,
  );
}
