/** How long a claim lasts that is not renewed: what may be asked for, and what it is when nobody asks. */
import { quote } from "../errors.js";
import { invalidState } from "./errors.js";

const DEFAULT_LEASE_MS = 30_000;
/** It is renewed three times in a lease, and a busy machine stands still for longer than a few milliseconds. */
const SHORTEST_LEASE_MS = 100;

/** Of a lease: how much is left of it when whoever holds it has to let go. */
const PART_LEFT = 1 / 4;

/** How long a claim may be held that is not renewed: then its job is told to end, before another may begin. */
export function longestHoldMs(leaseMs: number): number {
  return leaseMs * (1 - PART_LEFT);
}

/** In milliseconds. Throws when it is no length that a lease can have. */
export function leaseLength(leaseMs: number = DEFAULT_LEASE_MS): number {
  if (Number.isFinite(leaseMs) && leaseMs >= SHORTEST_LEASE_MS) return leaseMs;
  throw invalidState(
    `Invalid leaseMs ${quote(leaseMs)}: expected a number of milliseconds from ${SHORTEST_LEASE_MS}.`,
  );
}
