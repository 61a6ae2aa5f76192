/**
 * The part of a job's output that is new since the last read. Output grows at its end. Long output loses its middle and
 * its tail moves up (capped-output.ts), so a position in the file is not a position in the output. Pure.
 */

const CUT = /\n\[(\d+) bytes of output were cut here\]\n/g;

interface Cut {
  /** Where the line begins that marks the cut. */
  readonly at: number;
  readonly lineBytes: number;
  readonly bytesCut: number;
}

export class OutputTail {
  #before: Buffer = Buffer.alloc(0);

  /** Whether `now` begins with the bytes of the last read; false while and after the middle is cut. */
  isContinuedBy(now: Buffer): boolean {
    return now.subarray(0, this.#before.length).equals(this.#before);
  }

  /** The bytes to show next. A line with the count replaces bytes that were cut before they could be read. */
  nextBytes(now: Buffer): Buffer {
    const before = this.#before;
    const isContinued = this.isContinuedBy(now);
    this.#before = now;
    if (isContinued) return now.subarray(before.length);
    const cut = cutAround(now, firstDifference(before, now));
    if (cut === undefined) return now; // a different output
    // Positions in the whole output, including the bytes that were cut.
    const shownTo = positionOfEnd(before, cut.at);
    const tailFrom = cut.at + cut.bytesCut;
    const lost = Math.max(0, tailFrom - shownTo);
    const tail = now.subarray(cut.at + cut.lineBytes + Math.max(0, shownTo - tailFrom));
    return lost === 0
      ? tail
      : Buffer.concat([Buffer.from(`\n[${lost} bytes of output were cut here]\n`), tail]);
  }
}

/** The length of the whole output from which these bytes remain. An earlier cut is at the same position. */
function positionOfEnd(bytes: Buffer, at: number): number {
  const cut = cutsIn(bytes).find((one) => one.at === at);
  return cut === undefined ? bytes.length : bytes.length - cut.lineBytes + cut.bytesCut;
}

function firstDifference(one: Buffer, other: Buffer): number {
  const length = Math.min(one.length, other.length);
  for (let at = 0; at < length; at++) if (one[at] !== other[at]) return at;
  return length;
}

/** The cut at which two reads begin to differ. A job may print a line like that itself, but at a different position. */
function cutAround(bytes: Buffer, difference: number): Cut | undefined {
  return cutsIn(bytes).find(({ at, lineBytes }) => at <= difference && difference <= at + lineBytes);
}

function cutsIn(bytes: Buffer): Cut[] {
  // latin1 has one character for each byte, so positions are the same.
  return Array.from(bytes.toString("latin1").matchAll(CUT), (match) => ({
    at: match.index,
    lineBytes: match[0].length,
    bytesCut: Number(match[1]),
  }));
}
