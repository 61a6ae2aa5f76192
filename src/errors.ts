/**
 * The base of every error Rota throws, and how a value is shown in a message.
 * Each layer adds its own classes and closes its own set of codes.
 */

export interface RotaErrorOptions<Code extends string = string> {
  readonly code: Code;
  readonly cause?: unknown;
}

/** Programs branch on `code`; people read `message`. */
export class RotaError extends Error {
  readonly code: string;

  constructor(message: string, { code, cause }: RotaErrorOptions) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
  }
}
RotaError.prototype.name = "RotaError"; // not a field: `stack` is written before fields are

const SHOWN_CHARACTERS = 80;

/** A value as a message may carry it: quoted, control characters escaped, cut when long. */
export function quote(value: unknown): string {
  if (typeof value !== "string") return String(value);
  const shown = value.length > SHOWN_CHARACTERS ? `${value.slice(0, SHOWN_CHARACTERS)}…` : value;
  return JSON.stringify(shown);
}
