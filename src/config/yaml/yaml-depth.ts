/**
 * Finds text that is nested so deeply that the recursive parser would exhaust the stack, where even compiling a regular
 * expression can end the process. Uses the lexer, which is not recursive. Pure.
 */
import { CST, Lexer } from "yaml";

/** Nested flow collections, or list items in one line: far more than a configuration needs. */
const DEEPEST = 100;
/** Each column of indentation may be a level. */
const WIDEST_INDENT = 200;

/** Lexemes that are not part of the text. */
const MARKS: ReadonlySet<string> = new Set([CST.DOCUMENT, CST.FLOW_END, CST.SCALAR]);

/** The offset where the text is nested too deeply; `undefined` when it is not. */
export function tooDeepAt(text: string): number | undefined {
  let offset = 0;
  let flow = 0;
  let inLine = 0;
  let isLineStart = true;
  let isContent = false;
  for (const lexeme of new Lexer().lex(text)) {
    const type = isContent ? "scalar" : CST.tokenType(lexeme);
    const isMark: boolean = !isContent && MARKS.has(lexeme);
    isContent = isMark && lexeme === CST.SCALAR;
    if (type === "flow-seq-start" || type === "flow-map-start") flow++;
    else if (type === "flow-seq-end" || type === "flow-map-end") flow--;
    else if (type === "seq-item-ind" || type === "explicit-key-ind") inLine++;
    else if (type === "newline") inLine = 0;
    const indent = isLineStart && type === "space" ? lexeme.length : 0;
    if (flow > DEEPEST || inLine > DEEPEST || indent > WIDEST_INDENT) return offset;
    if (!isMark) {
      isLineStart = type === "newline";
      offset += lexeme.length;
    }
  }
  return undefined;
}
