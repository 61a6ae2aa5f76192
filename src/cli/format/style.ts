/** Colour: whether a stream gets any, and the few styles that the command uses. */
import { styleText } from "node:util";
import type { CliContext, CliStream } from "../context.js";

export type Style = "bold" | "cyan" | "dim" | "green" | "red" | "yellow";

/** Puts a style on a text, or leaves it as it is. */
export type Paint = (style: Style, text: string) => string;

const plain: Paint = (_, text) => text;
// Whether to paint was decided before: newer Nodes would decide again, by their own stdout.
const painted: Paint = (style, text) =>
  text === "" ? "" : styleText(style, text, { validateStream: false });

export function paintFor(stream: CliStream, env: CliContext["env"], isWanted = true): Paint {
  return isWanted && hasColor(stream, env) ? painted : plain;
}

/** FORCE_COLOR comes before NO_COLOR, as in Node itself; without either a terminal gets colour, and a file none. */
function hasColor(stream: CliStream, { FORCE_COLOR, NO_COLOR, TERM }: CliContext["env"]): boolean {
  if (FORCE_COLOR !== undefined) return FORCE_COLOR !== "0" && FORCE_COLOR !== "false";
  if (NO_COLOR !== undefined && NO_COLOR !== "") return false;
  return stream.isTTY === true && TERM !== "dumb";
}
