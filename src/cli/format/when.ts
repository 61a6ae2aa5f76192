/** Formats times and durations: "in 5m", "3h ago", and ISO times with the offset of a zone. Pure. */
import { UNIT_MS } from "../../duration.js";
import { timeZone } from "../../scheduler/timing/time-zone.js";
import type { Cell } from "./table.js";

const UNITS = [
  ["d", UNIT_MS.d],
  ["h", UNIT_MS.h],
  ["m", UNIT_MS.m],
  ["s", UNIT_MS.s],
] as const;
/** From this count of a unit on, the next smaller unit is left out. */
const ENOUGH = 10;

/** A duration in at most two units, rounded down: "4m 30s", "12m", "2d 3h", "250ms". */
export function shortDuration(ms: number): string {
  const whole = Math.max(0, Math.floor(ms));
  for (const [index, [unit, unitMs]] of UNITS.entries()) {
    const count = Math.floor(whole / unitMs);
    if (count === 0) continue;
    const [smallerUnit, smallerMs] = UNITS[index + 1] ?? ["", Infinity];
    const rest = Math.floor((whole % unitMs) / smallerMs);
    return count >= ENOUGH || rest === 0 ? `${count}${unit}` : `${count}${unit} ${rest}${smallerUnit}`;
  }
  return `${whole}ms`;
}

/** "in 5m", "3h ago", or "now" for less than a second. */
export function relativeTime(at: Date, now: Date): string {
  const ms = at.getTime() - now.getTime();
  if (Math.abs(ms) < UNIT_MS.s) return "now";
  return ms > 0 ? `in ${shortDuration(ms)}` : `${shortDuration(-ms)} ago`;
}

/** "2026-11-16T09:00:00+01:00": rounded down to the second, in the given zone or the system's. */
export function zonedTime(at: Date, timezone?: string): string {
  const second = Math.floor(at.getTime() / 1000);
  const { offset } = timeZone(timezone).spanAt(second);
  const local = new Date((second + offset) * 1000).toISOString().replace(/\.000Z$/, "");
  return `${local}${offsetText(offset)}`;
}

/** "03-01 13:00:00", for narrow terminals. */
export function shortZonedTime(at: Date, timezone?: string): string {
  return zonedTime(at, timezone).slice("2026-".length, "2026-03-01T13:00:00".length).replace("T", " ");
}

/** A time in a table, with a short form for narrow terminals; "-" for no time. */
export function timeCell(at: Date | undefined): Cell {
  return at === undefined ? "-" : { text: zonedTime(at), short: shortZonedTime(at) };
}

/** "+05:30", with seconds for historical zones that have them. */
function offsetText(offset: number): string {
  const away = Math.abs(offset);
  const parts = [Math.floor(away / 3600), Math.floor(away / 60) % 60, away % 60];
  const shown = parts.at(-1) === 0 ? parts.slice(0, 2) : parts;
  return `${offset < 0 ? "-" : "+"}${shown.map((part) => String(part).padStart(2, "0")).join(":")}`;
}
