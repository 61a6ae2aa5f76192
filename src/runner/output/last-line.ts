/**
 * The last line of a stream that is not blank, in constant memory. Secrets are hidden before lines are told apart: a
 * secret may have several lines.
 */
import { stripVTControlCharacters } from "node:util";
import { SecretFilter } from "./secrets.js";

const KEPT_BYTES = 8_192;
const LONGEST_LINE = 500;

export class LastLine {
  readonly #tail = Buffer.alloc(KEPT_BYTES);
  readonly #filter: SecretFilter | undefined;
  #size = 0;

  constructor(secrets: readonly string[] = []) {
    this.#filter = secrets.length === 0 ? undefined : new SecretFilter(secrets);
  }

  add(bytes: Buffer): void {
    this.#keep(this.#filter === undefined ? bytes : Buffer.from(this.#filter.add(bytes), "latin1"));
  }

  #keep(bytes: Uint8Array): void {
    const end = bytes.subarray(-KEPT_BYTES);
    const tooMany = Math.max(0, this.#size + end.length - KEPT_BYTES);
    this.#tail.copyWithin(0, tooMany, this.#size);
    this.#tail.set(end, this.#size - tooMany);
    this.#size += end.length - tooMany;
  }

  /** Call it at the end of the stream. */
  get text(): string | undefined {
    if (this.#filter !== undefined) this.#keep(Buffer.from(this.#filter.end(), "latin1"));
    const lines = stripVTControlCharacters(this.#tail.toString("utf8", 0, this.#size)).split(/[\r\n]+/);
    const line = lines.findLast((text) => text.trim() !== "")?.trim();
    return line !== undefined && line.length > LONGEST_LINE ? `${line.slice(0, LONGEST_LINE)}…` : line;
  }
}
