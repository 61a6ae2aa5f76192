/**
 * Keeps what was given as a secret out of what is kept of a job: its output, summary, error and response.
 * What is shorter than six characters is not looked for: it would be found in every other word.
 */
import { isFields } from "../../fields.js";

const HIDDEN = "[hidden]";
const SHORTEST_SECRET = 6;
/** Headers that say what a request is, and not who makes it. */
const OPEN_HEADERS = /^(accept|content|user-agent|cache-control)/i;

/** The texts to hide, of values by their names; a header's scheme ("Bearer") is no part of its secret. */
export function secretsIn(values: Readonly<Record<string, string>>): readonly string[] {
  const secrets = new Set<string>();
  for (const [name, value] of Object.entries(values)) {
    if (OPEN_HEADERS.test(name)) continue;
    const credential = /^[A-Za-z]+ +(\S.*)$/.exec(value)?.[1] ?? "";
    for (const secret of [value, credential]) {
      if (secret.length < SHORTEST_SECRET) continue;
      secrets.add(secret);
      secrets.add(JSON.stringify(secret).slice(1, -1));
    }
  }
  // The longest first: one may be part of another.
  return [...secrets].toSorted((a, b) => b.length - a.length);
}

export function hideIn(text: string, secrets: readonly string[]): string {
  let shown = text;
  for (const secret of secrets) shown = shown.replaceAll(secret, HIDDEN);
  return shown;
}

/** A JSON value with the secrets in its texts hidden, also in names. */
export function hideInJson(value: unknown, secrets: readonly string[]): unknown {
  if (secrets.length === 0) return value;
  if (typeof value === "string") return hideIn(value, secrets);
  if (Array.isArray(value)) return value.map((part: unknown) => hideInJson(part, secrets));
  if (!isFields(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, part]) => [hideIn(key, secrets), hideInJson(part, secrets)]),
  );
}

/** Hides secrets in bytes that come in pieces, also where one lies across two of them. Answers a character per byte. */
export class SecretFilter {
  readonly #secrets: readonly string[];
  /** What may be the beginning of a secret. */
  #held = "";

  constructor(secrets: readonly string[]) {
    // A character per byte, so that a secret is found wherever the bytes are cut.
    this.#secrets = secrets.map((secret) => Buffer.from(secret).toString("latin1"));
  }

  add(bytes: Buffer): string {
    const text = hideIn(this.#held + bytes.toString("latin1"), this.#secrets);
    const heldLength = Math.max(...this.#secrets.map((secret) => startAtEnd(text, secret)), 0);
    this.#held = text.slice(text.length - heldLength);
    return text.slice(0, text.length - heldLength);
  }

  /** What was held back. */
  end(): string {
    const rest = this.#held;
    this.#held = "";
    return rest;
  }
}

/** How many characters at the end of the text begin the secret without completing it. */
function startAtEnd(text: string, secret: string): number {
  for (let length = Math.min(secret.length - 1, text.length); length > 0; length--)
    if (text.endsWith(secret.slice(0, length))) return length;
  return 0;
}
