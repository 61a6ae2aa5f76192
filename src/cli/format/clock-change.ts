/** The remark about a clock change (daylight saving time) beside a run. Pure. */
import { timeZone } from "../../scheduler/timing/time-zone.js";

/** "" for a run that no clock change affects. */
export function clockChangeRemark(at: Date, timezone: string | undefined): string {
  const zone = timeZone(timezone);
  const second = Math.floor(at.getTime() / 1000);
  const span = zone.spanAt(second);
  const local = second + span.offset;
  const skipped = span.start + span.offset - span.resumedFrom;
  if (span.start === second && skipped > 0) return `the clocks go forward ${amount(skipped)} here`;
  if (local < span.resumedFrom) return "this local time comes twice: the second time";
  const repeatedFrom = span.end + zone.spanAt(span.end).offset;
  const isRepeated = local >= repeatedFrom && local < span.end + span.offset;
  return isRepeated ? "this local time comes twice: the first time" : "";
}

function amount(seconds: number): string {
  return seconds % 3600 === 0 ? `${seconds / 3600}h` : `${Math.round(seconds / 60)}m`;
}
