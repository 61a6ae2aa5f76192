/** Reads the messages of an agent SDK: their text, their error, and their line in the output. Pure. */
import { isFields } from "../../fields.js";
import { messageOf } from "../../errors.js";

const LONGEST_PIECE = 65_536;
/** Replaces a long text in the JSON, until the text is written in pieces. */
const LONG_TEXT = "\0long text";
/** The mark as a value, not as a key. */
const LONG_TEXT_IN_JSON = /"\\u0000long text"(?!:)/;

/** The text of an assistant's message or of a result; `undefined` for any other. */
export function summaryIn(message: unknown): string | undefined {
  if (!isFields(message)) return undefined;
  if (message["type"] === "result") return textIn(message["result"]) ?? textIn(message["content"]);
  if (message["type"] !== "assistant" && message["role"] !== "assistant") return undefined;
  const inner = message["message"];
  return textIn(isFields(inner) ? inner["content"] : (inner ?? message["content"]));
}

/** The error that the message reports; `undefined` when it reports none. */
export function errorIn(message: unknown): string | undefined {
  if (!isFields(message)) return undefined;
  const { type, subtype, is_error: isError } = message;
  const isSubtypeError = typeof subtype === "string" && subtype.startsWith("error");
  if (isError !== true && type !== "error" && !isSubtypeError) return undefined;
  const { error, message: inner, result, content, errors } = message;
  for (const part of [error, inner, result, content, errors]) {
    const text = isFields(part) ? (textIn(part["message"]) ?? textIn(part["content"])) : textIn(part);
    if (text !== undefined) return text;
  }
  return isSubtypeError ? subtype : "The agent reported an error.";
}

/** The message as one line of JSON, in pieces: a text of megabytes is never copied as a whole. */
export function* lineOf(message: unknown): Generator<string> {
  const longTexts: string[] = [];
  // A text that contains the mark is treated as a long text.
  const shortened = (_: string, value: unknown): unknown =>
    typeof value === "string" && (value.length > LONGEST_PIECE || value.includes(LONG_TEXT))
      ? (longTexts.push(value), LONG_TEXT)
      : value;
  const parts = jsonOf(message, shortened).split(LONG_TEXT_IN_JSON);
  for (const [at, part] of parts.entries()) {
    yield at === parts.length - 1 ? `${part}\n` : part;
    const text = longTexts[at];
    if (text !== undefined) yield* jsonPieces(text);
  }
}

function jsonOf(message: unknown, replacer: (key: string, value: unknown) => unknown): string {
  try {
    const json: string | undefined = JSON.stringify(message, replacer);
    if (json !== undefined) return json;
  } catch (error) {
    return JSON.stringify({ type: "unprintable", error: messageOf(error) });
  }
  return JSON.stringify({ type: "unprintable", error: `a ${typeof message}` });
}

/** A surrogate pair that is cut in two becomes two escapes, which a JSON parser joins again. */
function* jsonPieces(text: string): Generator<string> {
  yield '"';
  for (let at = 0; at < text.length; at += LONGEST_PIECE)
    yield JSON.stringify(text.slice(at, at + LONGEST_PIECE)).slice(1, -1);
  yield '"';
}

/** The text, or the joined texts of a list of blocks. */
function textIn(content: unknown): string | undefined {
  if (typeof content === "string") return content === "" ? undefined : content;
  if (!Array.isArray(content)) return undefined;
  const texts = content.flatMap((block: unknown) => {
    if (typeof block === "string") return [block];
    return isFields(block) && typeof block["text"] === "string" ? [block["text"]] : [];
  });
  return texts.length === 0 ? undefined : texts.join("\n");
}
