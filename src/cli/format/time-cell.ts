/** A time in a table, with a short form for narrow terminals; "-" for no time. */
import type { Cell } from "./table.js";
import { shortZonedTime, zonedTime } from "./when.js";

export function timeCell(at: Date | undefined): Cell {
  return at === undefined ? "-" : { text: zonedTime(at), short: shortZonedTime(at) };
}
