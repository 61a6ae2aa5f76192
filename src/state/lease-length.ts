/** How long a claim lasts that is not renewed: the default and the shortest lease. */
import { quote } from "../errors.js";
import { invalidState } from "./errors.js";

const DEFAULT_LEASE_MS = 30_000;
/** A claim is renewed three times in a lease, and a busy machine may stand still for many milliseconds. */
const SHORTEST_LEASE_MS = 100;

/** The part of a lease that is left when a job has to stop because its claim was not renewed. */
const PART_LEFT = 1 / 4;

/** How long a job may run after its claim was last renewed; it is stopped before the slot can be claimed again. */
export function longestHoldMs(leaseMs: number): number {
  return leaseMs * (1 - PART_LEFT);
}

/** In milliseconds. Throws for an invalid length. */
export function leaseLength(leaseMs: number = DEFAULT_LEASE_MS): number {
  if (Number.isFinite(leaseMs) && leaseMs >= SHORTEST_LEASE_MS) return leaseMs;
  throw invalidState(
    `Invalid leaseMs ${quote(leaseMs)}: expected a number of milliseconds from ${SHORTEST_LEASE_MS}.`,
  );
}
