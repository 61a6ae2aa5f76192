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

/** Two independent hashes of 32 bits. */
export interface IdHash {
  readonly first: number;
  readonly second: number;
}

/** In the byte order of the machine: on a different one the file is not an index, and is made again. */
const MAGIC = 0x524f5449;
const HEADER_WORDS = 2;
const WORDS = 3;
const HASHES = 2 ** 32;
/** As many places as fit beside 32 bits of a hash in the 53 bits of a number. */
export const MOST_IDS: number = 2 ** 21;

const NONE: readonly number[] = [];

export class IdIndex {
  /** Magic number and crc, then for all ids the first half of the hash, the second half, and the offset. */
  readonly #words: Uint32Array;
  readonly count: number;

  private constructor(words: Uint32Array) {
    this.#words = words;
    this.count = (words.length - HEADER_WORDS) / WORDS;
  }

  /** `count` is the number of the ids. */
  static of(ids: Iterable<IndexedId>, count: number): IdIndex {
    const index = new IdIndex(new Uint32Array(HEADER_WORDS + WORDS * count));
    const [seconds, offsets] = [new Uint32Array(count), new Uint32Array(count)];
    // The engine sorts plain numbers: half of the hash, and the place in the list.
    const order = new Float64Array(count);
    let next = 0;
    for (const { part, id, offset } of ids) {
      const { first, second } = hashOf(part, id);
      order[next] = first * MOST_IDS + next;
      seconds[next] = second;
      offsets[next] = offset;
      next++;
    }
    const sorted = order.toSorted();
    for (let at = 0; at < count; at++) {
      const packed = sorted[at] ?? 0;
      const place = packed % MOST_IDS;
      index.#set(0, at, Math.floor(packed / MOST_IDS));
      index.#set(1, at, seconds[place]);
      index.#set(2, at, offsets[place]);
    }
    index.#words[0] = MAGIC;
    index.#words[1] = crc32(index.#body);
    return index;
  }

  /** `undefined` for bytes that are not a whole index. */
  static decode(bytes: Uint8Array): IdIndex | undefined {
    if (bytes.length < 4 * HEADER_WORDS || (bytes.length / 4 - HEADER_WORDS) % WORDS !== 0) return undefined;
    // Words begin at whole words, as a copy does.
    const { buffer, byteOffset, length } = bytes.byteOffset % 4 === 0 ? bytes : Uint8Array.from(bytes);
    const words = new Uint32Array(buffer, byteOffset, length / 4);
    const index = new IdIndex(words);
    return words[0] === MAGIC && words[1] === crc32(index.#body) ? index : undefined;
  }

  get bytes(): Uint8Array {
    const { buffer, byteOffset, byteLength } = this.#words;
    return new Uint8Array(buffer, byteOffset, byteLength);
  }

  /** Where lines begin that may have the id, the last one first. */
  offsetsOf({ first, second }: IdHash): readonly number[] {
    // Hashes lie evenly, so that the place is known to within a few times the root of their number.
    const guess = Math.floor((first / HASHES) * this.count);
    const margin = Math.ceil(2 * Math.sqrt(this.count));
    let from = Math.max(0, guess - margin);
    let to = Math.min(this.count, guess + margin);
    if (from > 0 && this.#get(0, from - 1) >= first) from = 0;
    if (to < this.count && this.#get(0, to) < first) to = this.count;
    while (from < to) {
      const middle = (from + to) >>> 1;
      if (this.#get(0, middle) < first) from = middle + 1;
      else to = middle;
    }
    if (this.#get(0, from) !== first) return NONE;
    const offsets: number[] = [];
    for (; from < this.count && this.#get(0, from) === first; from++)
      if (this.#get(1, from) === second) offsets.push(this.#get(2, from));
    return offsets.length > 1 ? offsets.toSorted((a, b) => b - a) : offsets;
  }

  get #body(): Uint8Array {
    return this.bytes.subarray(4 * HEADER_WORDS);
  }

  #get(column: number, at: number): number {
    return this.#words[HEADER_WORDS + column * this.count + at] ?? 0;
  }

  #set(column: number, at: number, value = 0): void {
    this.#words[HEADER_WORDS + column * this.count + at] = value;
  }
}

export function hashOf(part: string, id: string): IdHash {
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
  return { first: mixed(first), second: mixed(second ^ Math.imul(first, 0x21f0aaad)) };
}

function mixed(hash: number): number {
  const half = Math.imul(hash ^ (hash >>> 16), 0x21f0aaad);
  const whole = Math.imul(half ^ (half >>> 15), 0x735a2d97);
  return (whole ^ (whole >>> 15)) >>> 0;
}
