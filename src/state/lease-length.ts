/** How long a claim lasts that is not renewed: the default and the shortest lease. */
import { type Duration, readDuration } from "../duration.js";
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
export function leaseLength(lease: Duration = DEFAULT_LEASE_MS): number {
  return readDuration(lease, "leaseMs", {
    atLeastMs: SHORTEST_LEASE_MS,
    mayBeInfinite: false,
    error: invalidState,
  });
}
