/** What may be kept as an event? Values from callers become JSON texts and names here, or are refused with a code. */
import { messageOf, quote } from "../../errors.js";
import { LONGEST_NAME } from "../validate-state.js";
import { EventError } from "./errors.js";
import type { NewEvent } from "./event-store.js";

/** The most that a payload may have as UTF-8. */
export const MOST_PAYLOAD_BYTES = 1_000_000;
export const LONGEST_EVENT_ID = 512;
/** Of an agent, a slash, and a name. */
const LONGEST_TOPIC = 2 * LONGEST_NAME + 1;

/**
 * The payload as JSON text. Throws INVALID_PAYLOAD for what JSON cannot say (nothing, a function, NaN, a cycle) and for
 * text that not every store can keep, PAYLOAD_TOO_LARGE for more than 1 MB.
 */
export function payloadText(value: unknown): string {
  const text = jsonText(value, "payload");
  checkPayload(text);
  return text;
}

/** Any value as JSON text, of any length. Throws INVALID_PAYLOAD. */
export function jsonText(value: unknown, what: string): string {
  let text: string | undefined;
  try {
    text = JSON.stringify(value, finiteOnly);
  } catch (error) {
    throw invalidPayload(
      `Not a ${what}: ${messageOf(error)}. Pass what JSON can say, without cycles.`,
      error,
    );
  }
  if (text === undefined)
    throw invalidPayload(`Not a ${what}: ${quote(typeof value)} has no JSON. Pass null for nothing.`);
  checkText(text, what);
  return text;
}

/** JSON would make `null` of it. */
function finiteOnly(_key: string, value: unknown): unknown {
  if (typeof value !== "number" || Number.isFinite(value)) return value;
  throw new RangeError(`JSON has no ${value}`);
}

/** Escapes of a NUL and of half a surrogate pair, after an even number of backslashes; or the characters themselves. */
const UNKEPT = /(?<!\\)(?:\\\\)*\\u(?:0000|[dD][89a-fA-F][0-9a-fA-F]{2})|\0|\p{Surrogate}/u;

function checkText(text: string, what: string): void {
  if (!UNKEPT.test(text)) return;
  throw invalidPayload(
    `Not a ${what}: it has a NUL character or half a surrogate pair, which a database cannot keep. Remove or encode it.`,
  );
}

/** Checks a payload that is JSON text already, as `payloadText` writes it: only half surrogate pairs are escaped. */
export function checkPayload(text: string): void {
  if (typeof text !== "string")
    throw invalidPayload(`Not a payload: expected JSON text, got ${quote(typeof text)}. Use payloadText.`);
  // A character has at most three bytes, so most texts need no count.
  const bytes = text.length * 3 <= MOST_PAYLOAD_BYTES ? 0 : Buffer.byteLength(text);
  if (bytes > MOST_PAYLOAD_BYTES)
    throw new EventError(
      "PAYLOAD_TOO_LARGE",
      `The payload has ${bytes} bytes, and ${MOST_PAYLOAD_BYTES} (1 MB) is the most: keep the rest elsewhere and publish where it is.`,
    );
  checkText(text, "payload");
}

/** Checks all that a publisher gives. */
export function checkEvents(events: readonly NewEvent[]): void {
  for (const { topic, id, payload } of events) {
    checkTopic(topic);
    checkEventId(id);
    checkPayload(payload);
  }
}

export function checkTopic(topic: string): void {
  if (isText(topic, LONGEST_TOPIC)) return;
  throw new EventError(
    "INVALID_EVENT",
    `Invalid topic name ${quote(topic)}: expected 1 to ${LONGEST_TOPIC} characters without NUL and half surrogate pairs.`,
  );
}

export function checkEventId(id: string): void {
  if (isText(id, LONGEST_EVENT_ID)) return;
  throw new EventError(
    "INVALID_EVENT",
    `Invalid event id ${quote(id)}: expected 1 to ${LONGEST_EVENT_ID} characters without NUL and half surrogate pairs.`,
  );
}

function isText(text: unknown, most: number): text is string {
  if (typeof text !== "string" || text === "" || text.length > most) return false;
  return !/[\0\p{Surrogate}]/u.test(text);
}

function invalidPayload(message: string, cause?: unknown): EventError {
  return new EventError("INVALID_PAYLOAD", message, [], cause);
}
