/** What leases and signs of life in a database are counted by. */
import { type Clock, systemClock } from "../../clock.js";
import { isoText } from "../../iso-time.js";

/** `null` for the database's own clock, which counts for whoever has this machine's. */
export function leaseNowOf(clock: Clock): string | null {
  return clock === systemClock ? null : isoText(new Date(clock.monotonic()));
}
