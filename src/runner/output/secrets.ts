/**
 * Hides secrets in what Rota keeps of a job: its output, summary, error and response.
 * Ignores values shorter than six characters: they would be found in ordinary words.
 */
import { isFields } from "../../fields.js";

const HIDDEN = "[hidden]";
const SHORTEST_SECRET = 6;
/** Headers that describe a request and hold no credentials. */
const OPEN_HEADERS = /^(accept|content|user-agent|cache-control)/i;

/** The texts to hide in a map of names to values. A header's scheme ("Bearer") is not part of its secret. */
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
  // The longest first: a secret may contain a shorter one.
  return [...secrets].toSorted((a, b) => b.length - a.length);
}

export function hideIn(text: string, secrets: readonly string[]): string {
  let shown = text;
  for (const secret of secrets) shown = shown.replaceAll(secret, HIDDEN);
  return shown;
}

/** A JSON value with the secrets hidden in its texts and keys. */
export function hideInJson(value: unknown, secrets: readonly string[]): unknown {
  if (secrets.length === 0) return value;
  if (typeof value === "string") return hideIn(value, secrets);
  if (Array.isArray(value)) return value.map((part: unknown) => hideInJson(part, secrets));
  if (!isFields(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, part]) => [hideIn(key, secrets), hideInJson(part, secrets)]),
  );
}

/** Hides secrets in a stream of bytes, also a secret that two pieces share. Returns one character per byte. */
export class SecretFilter {
  readonly #secrets: readonly string[];
  /** The end of the last piece, where it may begin a secret. */
  #held = "";

  constructor(secrets: readonly string[]) {
    // One character per byte: a piece may end inside a UTF-8 character.
    this.#secrets = secrets.map((secret) => Buffer.from(secret).toString("latin1"));
  }

  add(bytes: Buffer): string {
    const text = hideIn(this.#held + bytes.toString("latin1"), this.#secrets);
    const heldLength = Math.max(...this.#secrets.map((secret) => startAtEnd(text, secret)), 0);
    this.#held = text.slice(text.length - heldLength);
    return text.slice(0, text.length - heldLength);
  }

  /** The rest that the filter held back. */
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
