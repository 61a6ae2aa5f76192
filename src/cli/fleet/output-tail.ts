/**
 * What is new in a job's output since it was last read. It grows at its end; once it is long, its middle is cut and the
 * tail moves up (capped-output.ts), so a position in the file is no position in the output. Pure.
 */

const CUT = /\n\[(\d+) bytes of output were cut here\]\n/g;

interface Cut {
  /** Where the line that tells of it begins. */
  readonly at: number;
  readonly lineBytes: number;
  readonly bytesCut: number;
}

export class OutputTail {
  #before: Buffer = Buffer.alloc(0);

  /** Whether `now` is what was read before and perhaps more; not so while, and after, its middle is cut. */
  isContinuedBy(now: Buffer): boolean {
    return now.subarray(0, this.#before.length).equals(this.#before);
  }

  /** The bytes to show next; a line that says how many are lost stands where some are. */
  news(now: Buffer): Buffer {
    const before = this.#before;
    const isContinued = this.isContinuedBy(now);
    this.#before = now;
    if (isContinued) return now.subarray(before.length);
    const cut = cutAround(now, firstDifference(before, now));
    if (cut === undefined) return now; // not the output that was read before
    // Positions in the whole output, with what was cut from it.
    const shownTo = positionOfEnd(before, cut.at);
    const tailFrom = cut.at + cut.bytesCut;
    const lost = Math.max(0, tailFrom - shownTo);
    const tail = now.subarray(cut.at + cut.lineBytes + Math.max(0, shownTo - tailFrom));
    return lost === 0
      ? tail
      : Buffer.concat([Buffer.from(`\n[${lost} bytes of output were cut here]\n`), tail]);
  }
}

/** How long the output was of which these bytes are left. It may have been cut before, and then at the same place. */
function positionOfEnd(bytes: Buffer, at: number): number {
  const cut = cutsIn(bytes).find((one) => one.at === at);
  return cut === undefined ? bytes.length : bytes.length - cut.lineBytes + cut.bytesCut;
}

function firstDifference(one: Buffer, other: Buffer): number {
  const length = Math.min(one.length, other.length);
  for (let at = 0; at < length; at++) if (one[at] !== other[at]) return at;
  return length;
}

/** The cut in which two readings begin to differ. A job may print such a line itself, but elsewhere. */
function cutAround(bytes: Buffer, difference: number): Cut | undefined {
  return cutsIn(bytes).find(({ at, lineBytes }) => at <= difference && difference <= at + lineBytes);
}

function cutsIn(bytes: Buffer): Cut[] {
  // A character for each byte, so that positions are the same.
  return Array.from(bytes.toString("latin1").matchAll(CUT), (match) => ({
    at: match.index,
    lineBytes: match[0].length,
    bytesCut: Number(match[1]),
  }));
}
