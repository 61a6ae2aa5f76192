/** The base class of every error that Rota throws, and how messages show a value. Each layer adds classes and codes. */

export interface RotaErrorOptions<Code extends string = string> {
  readonly code: Code;
  readonly cause?: unknown;
}

/** Programs branch on `code`; people read `message`. */
export class RotaError<Code extends string = string> extends Error {
  readonly code: Code;

  constructor(message: string, { code, cause }: RotaErrorOptions<Code>) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
  }
}
RotaError.prototype.name = "RotaError"; // not a field: `stack` is written before fields are

const LONGEST_MESSAGE = 4_000;

/** The message of any thrown value, cut when it is long. Never throws. */
export function messageOf(error: unknown): string {
  const message = wholeMessageOf(error);
  return message.length > LONGEST_MESSAGE ? `${message.slice(0, LONGEST_MESSAGE)}…` : message;
}

/** The same without a limit. */
export function wholeMessageOf(error: unknown): string {
  try {
    const said: unknown = isErrorLike(error) ? error.message || error.code || error.name : error;
    return String(said);
  } catch {
    return "an error that cannot be shown";
  }
}

/** Also an error of a different realm, which is not an instance of this realm's Error. */
function isErrorLike(
  error: unknown,
): error is { readonly message: unknown; readonly code?: unknown; readonly name?: unknown } {
  if (error instanceof Error) return true;
  return (
    typeof error === "object" && error !== null && "message" in error && typeof error.message === "string"
  );
}

const SHOWN_CHARACTERS = 80;

/** A value for a message: text quoted, escaped and cut when long; objects only named. */
export function quote(value: unknown): string {
  if (Array.isArray(value)) return "an array";
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? "an invalid Date" : value.toISOString();
  if (typeof value === "object" && value !== null) return "an object";
  if (typeof value !== "string") return String(value);
  const shown = value.length > SHOWN_CHARACTERS ? `${value.slice(0, SHOWN_CHARACTERS)}…` : value;
  return JSON.stringify(shown);
}
