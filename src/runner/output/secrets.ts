/**
 * Hides secrets in what Rota keeps of a job: its output, summary, error and response.
 * Ignores values shorter than six characters: they would be found in ordinary words.
 */
import { isFields } from "../../fields.js";

const HIDDEN = "[hidden]";
const SHORTEST_SECRET = 6;
/** Headers that describe a request and hold no credentials, by their whole names. */
const OPEN_HEADERS: ReadonlySet<string> = new Set([
  "accept",
  "accept-charset",
  "accept-encoding",
  "accept-language",
  "cache-control",
  "content-encoding",
  "content-language",
  "content-length",
  "content-type",
  "user-agent",
]);

/** The secrets in a map of names to values. The scheme of a credential ("Bearer") is not part of its secret. */
export function secretsIn(values: Readonly<Record<string, string>>): readonly string[] {
  const secrets = new Set<string>();
  for (const value of Object.values(values)) {
    const credential = /^[A-Za-z]+ +(\S.*)$/.exec(value)?.[1] ?? "";
    for (const secret of [value, credential]) if (secret.length >= SHORTEST_SECRET) secrets.add(secret);
  }
  return [...secrets];
}

export function secretsInHeaders(headers: Readonly<Record<string, string>>): readonly string[] {
  const closed = Object.entries(headers).filter(([name]) => !OPEN_HEADERS.has(name.toLowerCase()));
  return secretsIn(Object.fromEntries(closed));
}

/** The texts to look for: each secret, its single lines, and both as JSON escapes them. */
export function searchedTexts(secrets: readonly string[]): readonly string[] {
  const texts = new Set<string>();
  for (const secret of secrets) {
    // In a variable, a line break is often written as "\n".
    const lines = secret.split(/[\r\n]+|\\r|\\n/).map((line) => line.trim());
    for (const text of [secret, ...lines.filter((line) => line.length >= SHORTEST_SECRET)]) {
      const json = JSON.stringify(text).slice(1, -1);
      texts
        .add(text)
        .add(json)
        .add(json.replaceAll(/[^\x20-\x7e]/g, unicodeEscape));
    }
  }
  texts.delete("");
  return [...texts];
}

function unicodeEscape(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** The text with "[hidden]" in place of everything that is part of one of the searched texts. */
export function hideIn(text: string, searched: readonly string[]): string {
  return searched.length === 0 ? text : new Hiding(searched).take(text, text.length);
}

/** A JSON value with the searched texts hidden in its texts, keys and numbers. */
export function hideInJson(value: unknown, searched: readonly string[]): unknown {
  if (searched.length === 0) return value;
  if (typeof value === "string") return hideIn(value, searched);
  if (typeof value === "number") return searched.includes(String(value)) ? HIDDEN : value;
  if (Array.isArray(value)) return value.map((part: unknown) => hideInJson(part, searched));
  if (!isFields(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, part]) => [hideIn(key, searched), hideInJson(part, searched)]),
  );
}

/**
 * Hides secrets in a stream of bytes, whatever the pieces that it comes in. Returns one character per byte. Holds back at
 * most the length of the longest secret.
 */
export class SecretFilter {
  readonly #searched: readonly string[];
  readonly #hiding: Hiding;
  /** The end of the last piece, where it may begin a secret. */
  #held = "";

  constructor(secrets: readonly string[]) {
    // One character per byte: a piece may end inside a UTF-8 character.
    this.#searched = searchedTexts(secrets).map((text) => Buffer.from(text).toString("latin1"));
    this.#hiding = new Hiding(this.#searched);
  }

  add(bytes: Buffer): string {
    const text = this.#held + bytes.toString("latin1");
    const heldFrom = this.#searched.reduce(
      (from, secret) => Math.min(from, startAtEnd(text, secret)),
      text.length,
    );
    this.#held = text.slice(heldFrom);
    return this.#hiding.take(text, heldFrom);
  }

  /** The rest that the filter held back. */
  end(): string {
    const text = this.#held;
    this.#held = "";
    return this.#hiding.take(text, text.length);
  }
}

/** Where the first text begins that may be a secret whose rest is still to come; the text's length where none does. */
function startAtEnd(text: string, secret: string): number {
  const first = secret.charAt(0);
  let at = text.indexOf(first, Math.max(0, text.length - secret.length + 1));
  while (at >= 0 && !secret.startsWith(text.slice(at))) at = text.indexOf(first, at + 1);
  return at < 0 ? text.length : at;
}

/**
 * Covers every occurrence of the searched texts, also of two that overlap: replacing one of them would leave the rest of
 * the other. Occurrences that overlap become one "[hidden]".
 */
class Hiding {
  readonly #searched: readonly string[];
  /** How many characters at the beginning of the next text belong to an occurrence that is shown already. */
  #shown = 0;

  constructor(searched: readonly string[]) {
    this.#searched = searched;
  }

  /** The beginning of the text, up to `end`. The next text has to begin there. */
  take(text: string, end: number): string {
    let taken = "";
    let at = Math.min(this.#shown, end);
    let coveredTo = this.#shown;
    for (const [from, to] of this.#occurrencesIn(text)) {
      if (from >= end) break;
      if (from >= coveredTo) taken += `${text.slice(at, from)}${HIDDEN}`;
      coveredTo = Math.max(coveredTo, to);
      at = Math.min(coveredTo, end);
    }
    this.#shown = Math.max(0, coveredTo - end);
    return taken + text.slice(at, end);
  }

  /** In the order of their beginnings. */
  #occurrencesIn(text: string): readonly (readonly [from: number, to: number])[] {
    const found: [number, number][] = [];
    for (const secret of this.#searched)
      for (let at = text.indexOf(secret); at >= 0; at = text.indexOf(secret, at + 1))
        found.push([at, at + secret.length]);
    return found.toSorted(([a], [b]) => a - b);
  }
}
