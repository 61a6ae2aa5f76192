/** The time by which PostgreSQL judges leases and heartbeats. */
import { type Clock, systemClock } from "../../clock.js";
import { isoText } from "../../iso-time.js";

/** `null` selects the database's own clock, which replaces the system clock; a clock of a test is sent as a time. */
export function leaseNowOf(clock: Clock): string | null {
  return clock === systemClock ? null : isoText(new Date(clock.monotonic()));
}
