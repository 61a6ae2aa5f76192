/** The last line that says something, of a stream that may be endless. */
import { stripVTControlCharacters } from "node:util";

const KEPT_BYTES = 8_192;
const LONGEST_LINE = 500;

export class LastLine {
  #tail = Buffer.alloc(0);

  add(bytes: Uint8Array): void {
    const joined = Buffer.concat([this.#tail, bytes.subarray(-KEPT_BYTES)]);
    // A copy, so that no large piece is held for the sake of its end.
    this.#tail = joined.length > KEPT_BYTES ? Buffer.from(joined.subarray(-KEPT_BYTES)) : joined;
  }

  get text(): string | undefined {
    const lines = stripVTControlCharacters(this.#tail.toString("utf8")).split(/[\r\n]+/);
    const line = lines.findLast((text) => text.trim() !== "")?.trim();
    return line !== undefined && line.length > LONGEST_LINE ? `${line.slice(0, LONGEST_LINE)}…` : line;
  }
}
