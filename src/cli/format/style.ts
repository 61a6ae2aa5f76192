/** Whether a stream gets colours, and the few styles that the command uses. */
import { styleText } from "node:util";
import type { CliContext, CliStream } from "../context.js";

export type Style = "bold" | "cyan" | "dim" | "green" | "red" | "yellow";

/** Styles a text, or returns it unchanged for a stream without colours. */
export type Paint = (style: Style, text: string) => string;

const plain: Paint = (_, text) => text;
// `validateStream: false`, because newer versions of Node would decide again, from process.stdout.
const painted: Paint = (style, text) =>
  text === "" ? "" : styleText(style, text, { validateStream: false });

export function paintFor(stream: CliStream, env: CliContext["env"], isWanted = true): Paint {
  return isWanted && hasColor(stream, env) ? painted : plain;
}

/** FORCE_COLOR overrides NO_COLOR, as in Node itself. Without either, terminals get colours and files do not. */
function hasColor(stream: CliStream, { FORCE_COLOR, NO_COLOR, TERM }: CliContext["env"]): boolean {
  if (FORCE_COLOR !== undefined) return FORCE_COLOR !== "0" && FORCE_COLOR !== "false";
  if (NO_COLOR !== undefined && NO_COLOR !== "") return false;
  return stream.isTTY === true && TERM !== "dumb";
}
