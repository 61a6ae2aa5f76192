/**
 * The ids in a sealed segment, 12 bytes each: a hash of 64 bits and where the line begins, sorted by the hash. Two ids may
 * have the same hash, so the line that is found has to be read. A file of it may be lost: the segment has it all.
 */
import { crc32 } from "./crc32.js";

/** An id of a part, and the offset of a line in its segment. */
export interface IndexedId {
  readonly part: string;
  readonly id: string;
  readonly offset: number;
}

/** In the byte order of the machine: on a different one the file is not an index, and is made again. */
const MAGIC = 0x524f5449;
const HEADER_WORDS = 2;
const WORDS = 3;
/** As many places as fit beside 32 bits of a hash in the 53 bits of a number. */
export const MOST_IDS: number = 2 ** 21;

export class IdIndex {
  /** Magic number and crc, then for all ids the first half of the hash, the second half, and the offset. */
  readonly #words: Uint32Array<ArrayBuffer>;
  readonly count: number;

  private constructor(words: Uint32Array<ArrayBuffer>) {
    this.#words = words;
    this.count = (words.length - HEADER_WORDS) / WORDS;
  }

  static of(ids: readonly IndexedId[]): IdIndex {
    const hashes = ids.map(({ part, id }) => hashOf(part, id));
    // The engine sorts plain numbers: half of the hash, and the place in the list.
    const order = Float64Array.from(hashes, ([hash], place) => hash * MOST_IDS + place).toSorted();
    const index = new IdIndex(new Uint32Array(HEADER_WORDS + WORDS * ids.length));
    for (const [at, packed] of order.entries()) {
      const place = packed % MOST_IDS;
      index.#set(0, at, hashes[place]?.[0]);
      index.#set(1, at, hashes[place]?.[1]);
      index.#set(2, at, ids[place]?.offset);
    }
    index.#words[0] = MAGIC;
    index.#words[1] = crc32(index.#body);
    return index;
  }

  /** `undefined` for bytes that are not a whole index. */
  static decode(bytes: Uint8Array): IdIndex | undefined {
    if (bytes.length < 4 * HEADER_WORDS || (bytes.length / 4 - HEADER_WORDS) % WORDS !== 0) return undefined;
    // A copy begins where words may begin.
    const words = new Uint32Array(Uint8Array.from(bytes).buffer);
    const index = new IdIndex(words);
    return words[0] === MAGIC && words[1] === crc32(index.#body) ? index : undefined;
  }

  get bytes(): Uint8Array {
    return new Uint8Array(this.#words.buffer);
  }

  /** Where lines begin that may have the id, the last one first. */
  offsetsOf(part: string, id: string): number[] {
    const [first, second] = hashOf(part, id);
    let from = 0;
    for (let to = this.count; from < to;) {
      const middle = (from + to) >>> 1;
      if (this.#get(0, middle) < first) from = middle + 1;
      else to = middle;
    }
    const offsets: number[] = [];
    for (; from < this.count && this.#get(0, from) === first; from++)
      if (this.#get(1, from) === second) offsets.push(this.#get(2, from));
    return offsets.toSorted((a, b) => b - a);
  }

  get #body(): Uint8Array {
    return new Uint8Array(this.#words.buffer, 4 * HEADER_WORDS);
  }

  #get(column: number, at: number): number {
    return this.#words[HEADER_WORDS + column * this.count + at] ?? 0;
  }

  #set(column: number, at: number, value = 0): void {
    this.#words[HEADER_WORDS + column * this.count + at] = value;
  }
}

/** Two independent hashes of 32 bits. */
function hashOf(part: string, id: string): readonly [number, number] {
  let first = 0x811c9dc5;
  let second = 0x9e3779b9;
  for (const text of [part, id]) {
    for (let at = 0; at < text.length; at++) {
      const unit = text.charCodeAt(at);
      first = Math.imul(first ^ unit, 0x01000193);
      second = Math.imul((second << 5) ^ (second >>> 27) ^ unit, 0x2c1b3c6d);
    }
    // Between part and id, so that "a" + "bc" is not "ab" + "c".
    first = Math.imul(first ^ 0x1_0000, 0x01000193);
    second = Math.imul(second ^ 0x1_0000, 0x297a2d39);
  }
  return [mixed(first), mixed(second ^ Math.imul(first, 0x21f0aaad))];
}

function mixed(hash: number): number {
  const half = Math.imul(hash ^ (hash >>> 16), 0x21f0aaad);
  const whole = Math.imul(half ^ (half >>> 15), 0x735a2d97);
  return (whole ^ (whole >>> 15)) >>> 0;
}
