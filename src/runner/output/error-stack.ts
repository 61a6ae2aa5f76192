/** What the output keeps of an error that a job threw: its stack, and the stacks of its causes. */
import { messageOf } from "../../errors.js";
import { type Fields, isFields } from "../../fields.js";

const LONGEST_STACKS = 65_536;
const MOST_ERRORS = 20;

/** `undefined` for a value without a stack. Never throws. No other property is shown: it may hold a secret. */
export function stacksOf(error: unknown): string | undefined {
  try {
    const first = stackIn(error);
    if (first === undefined) return undefined;
    const known = new Set<unknown>([error]);
    const parts = [first];
    for (const one of known) {
      for (const cause of causesOf(one)) {
        if (known.has(cause) || known.size >= MOST_ERRORS) continue;
        known.add(cause);
        parts.push(`Caused by: ${stackIn(cause) ?? messageOf(cause)}`);
      }
    }
    const text = parts.join("\n");
    return text.length > LONGEST_STACKS ? `${text.slice(0, LONGEST_STACKS)}…` : text;
  } catch {
    return undefined;
  }
}

function stackIn(error: unknown): string | undefined {
  const { stack } = isFields(error) ? error : { stack: undefined };
  return typeof stack === "string" && stack !== "" ? stack : undefined;
}

/** Its cause, and the errors of an AggregateError. */
function causesOf(error: unknown): readonly unknown[] {
  const { cause, errors }: Fields = isFields(error) ? error : {};
  const all: readonly unknown[] = Array.isArray(errors) ? errors : [];
  return cause == null ? all : [cause, ...all];
}
