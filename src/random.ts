/** The Random port: the only module that draws real randomness, and a seeded source for repeatable runs. */
import { randomBytes } from "node:crypto";

/** Returns a number in [0, 1). */
export type Random = () => number;

export const systemRandom: Random = () => Math.random();

/** A repeatable source: the same seed gives the same numbers, on every machine. */
export function seededRandom(seed: number): Random {
  // A Weyl sequence through a 32-bit integer mixer: small and fast, good enough for jitter and tests, not for secrets.
  let state = seed | 0;
  return () => {
    state = (state + 0x9e3779b9) | 0;
    let mixed = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32;
  };
}

const TOKEN_BYTES = 12;
/** Drawing tokens one by one takes twenty times as long as drawing many at once. */
const TOKENS_DRAWN = 256;

let drawn = Buffer.alloc(0);
let usedBytes = 0;

/** An unguessable text for file names: 24 hexadecimal digits. */
export function randomToken(): string {
  if (usedBytes === drawn.length) {
    drawn = randomBytes(TOKEN_BYTES * TOKENS_DRAWN);
    usedBytes = 0;
  }
  usedBytes += TOKEN_BYTES;
  return drawn.toString("hex", usedBytes - TOKEN_BYTES, usedBytes);
}
