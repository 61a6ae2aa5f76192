/** A time in a table: whole where there is room, and "-" where there is none. */
import type { Cell } from "./table.js";
import { shortZonedTime, zonedTime } from "./when.js";

export function timeCell(at: Date | undefined): Cell {
  return at === undefined ? "-" : { text: zonedTime(at), short: shortZonedTime(at) };
}
