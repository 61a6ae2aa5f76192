/** What a message of an agent SDK says: its text, whether it tells of a failure, and its line in the output. Pure. */
import { isFields } from "../fields.js";
import { messageOf } from "../errors.js";

/** The text of an assistant's message or of a result; `undefined` for any other. */
export function summaryIn(message: unknown): string | undefined {
  if (!isFields(message)) return undefined;
  if (message["type"] === "result") return textIn(message["result"]) ?? textIn(message["content"]);
  if (message["type"] !== "assistant" && message["role"] !== "assistant") return undefined;
  const inner = message["message"];
  return textIn(isFields(inner) ? inner["content"] : (inner ?? message["content"]));
}

/** Why the message says that the work failed; `undefined` when it does not. */
export function errorIn(message: unknown): string | undefined {
  if (!isFields(message)) return undefined;
  const { type, subtype, is_error: isError } = message;
  const isSubtypeError = typeof subtype === "string" && subtype.startsWith("error");
  if (isError !== true && type !== "error" && !isSubtypeError) return undefined;
  const { error, message: inner, result, content, errors } = message;
  for (const said of [error, inner, result, content, errors]) {
    const text = isFields(said) ? (textIn(said["message"]) ?? textIn(said["content"])) : textIn(said);
    if (text !== undefined) return text;
  }
  return isSubtypeError ? subtype : "The agent reported an error.";
}

/** One line of JSON, whatever the message is. */
export function lineOf(message: unknown): string {
  try {
    const line: string | undefined = JSON.stringify(message);
    if (line !== undefined) return line;
  } catch (error) {
    return JSON.stringify({ type: "unprintable", error: messageOf(error) });
  }
  return JSON.stringify({ type: "unprintable", error: `a ${typeof message}` });
}

/** Text, or the texts among blocks. */
function textIn(content: unknown): string | undefined {
  if (typeof content === "string") return content === "" ? undefined : content;
  if (!Array.isArray(content)) return undefined;
  const texts = content.flatMap((block: unknown) => {
    if (typeof block === "string") return [block];
    return isFields(block) && typeof block["text"] === "string" ? [block["text"]] : [];
  });
  return texts.length === 0 ? undefined : texts.join("\n");
}
