/**
 * The last line of a stream that is not blank, in constant memory. Secrets are hidden before lines are told apart: a
 * secret may have several lines.
 */
import { stripVTControlCharacters } from "node:util";
import { SecretFilter } from "./secrets.js";

const KEPT_BYTES = 8_192;
const LONGEST_LINE = 500;
/** "TypeError: x is not a function", "Error [ERR_MODULE_NOT_FOUND]: …", "Uncaught: …". */
const NODE_ERROR = /^(?:Uncaught\b|[\w.]*(?:Error|Exception)\b)/;

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
    return shortened(this.#lines().at(-1));
  }

  /** The line that says why a program failed: the last one, but of a Node program its error. */
  get reason(): string | undefined {
    const lines = this.#lines();
    const last = lines.at(-1);
    const isOfNode = last !== undefined && /^Node\.js v\d/.test(last);
    return shortened((isOfNode ? lines.findLast((line) => NODE_ERROR.test(line)) : undefined) ?? last);
  }

  /** The lines that are not blank. */
  #lines(): readonly string[] {
    if (this.#filter !== undefined) this.#keep(Buffer.from(this.#filter.end(), "latin1"));
    const text = stripVTControlCharacters(this.#tail.toString("utf8", 0, this.#size));
    return text
      .split(/[\r\n]+/)
      .map((line) => line.trim())
      .filter((line) => line !== "");
  }
}

function shortened(line: string | undefined): string | undefined {
  return line !== undefined && line.length > LONGEST_LINE ? `${line.slice(0, LONGEST_LINE)}…` : line;
}
