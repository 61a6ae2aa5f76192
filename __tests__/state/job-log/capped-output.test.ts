/** An output that is larger than what is copied at once is compacted piece by piece, and a crash loses nothing recent. */
import { describe, expect, it } from "vitest";
import { CappedOutput, type OutputBytes } from "../../../src/state/job-log/capped-output.js";

/** Bytes in memory that show themselves before every change, and count what was read and written at once. */
class WatchedBytes implements OutputBytes {
  content: Buffer = Buffer.alloc(0);
  largest = 0;
  beforeChange: (content: Buffer) => void = () => {};

  async read(bytes: Uint8Array, position: number): Promise<number> {
    this.largest = Math.max(this.largest, bytes.length);
    return this.content.copy(bytes, 0, position);
  }

  async write(bytes: Uint8Array, position: number): Promise<number> {
    this.beforeChange(this.content);
    this.largest = Math.max(this.largest, bytes.length);
    const { content } = this;
    this.content = Buffer.concat([
      content.subarray(0, position),
      bytes,
      content.subarray(position + bytes.length),
    ]);
    return bytes.length;
  }

  async truncate(size: number): Promise<void> {
    this.beforeChange(this.content);
    this.content = this.content.subarray(0, size);
  }

  async close(): Promise<void> {}
}

describe("an output of megabytes", () => {
  const limit = 2_000_001;
  const half = 1_000_000;
  const line = (at: number): string => `line ${at} ${"x".repeat(9_000)}\n`;

  it("has its first and its last half, in pieces of 256 kB at most", async () => {
    const bytes = new WatchedBytes();
    const output = new CappedOutput(bytes, limit);
    let written = "";
    for (let at = 0; at < 600; at++) {
      written += line(at);
      await output.write(line(at));
    }
    await output.close();
    expect(bytes.content.toString().split(/\n\[\d+ bytes of output were cut here\]\n/)).toEqual([
      written.slice(0, half),
      written.slice(-half - 1),
    ]);
    expect(bytes.largest).toBe(262_144);
  });

  it("has its recent lines at every step, as a crash would leave them", async () => {
    const bytes = new WatchedBytes();
    const output = new CappedOutput(bytes, limit);
    let looked = 0;
    let recent: string[] = [];
    bytes.beforeChange = (content) => {
      looked++;
      expect(recent.filter((text) => !content.includes(text))).toEqual([]);
    };
    for (let at = 0; at < 400; at++) {
      await output.write(line(at));
      recent = [...recent, line(at)].slice(-100);
    }
    expect(looked).toBeGreaterThan(400);
  });

  it("loses no more than the line that is being moved while it is closed", async () => {
    const bytes = new WatchedBytes();
    const output = new CappedOutput(bytes, limit);
    const recent: string[] = [];
    for (let at = 0; at < 230; at++) {
      await output.write(line(at));
      recent.push(line(at));
    }
    let looked = 0;
    bytes.beforeChange = (content) => {
      looked++;
      const lost = recent.slice(-100).filter((text) => !content.includes(text));
      expect(lost.length).toBeLessThanOrEqual(1);
    };
    await output.close();
    expect(looked).toBeGreaterThan(4);
  });
});

describe("writes that wait at the same time", () => {
  it("are kept apart, also when there is a buffer of an earlier one", async () => {
    const bytes = new WatchedBytes();
    const output = new CappedOutput(bytes, 1_000);
    await output.write("first ");
    await Promise.all(["one ", "two ", "three "].map((text) => output.write(text)));
    expect(bytes.content.toString()).toBe("first one two three ");
  });
});

/** Bytes in memory of which each change may fail, before or after it had its effect. */
class FailingBytes extends WatchedBytes {
  /** How many changes work before the one that fails; at most so many bytes are taken by one. */
  untilFailure: number = Infinity;
  hasEffect = false;

  override async write(bytes: Uint8Array, position: number): Promise<number> {
    const some = bytes.subarray(0, 7);
    return this.#failing(() => super.write(some, position));
  }

  override async truncate(size: number): Promise<void> {
    return this.#failing(() => super.truncate(size));
  }

  async #failing<Result>(change: () => Promise<Result>): Promise<Result> {
    const isFailing = this.untilFailure-- === 0;
    if (isFailing && !this.hasEffect) throw new Error("away");
    const result = await change();
    if (isFailing) throw new Error("the answer was lost");
    return result;
  }
}

describe("a write to an output that failed", () => {
  const limit = 101;
  const line = (at: number): string => `line ${at}, ö\u{1f600} ${"x".repeat(at % 60)}\n`;
  const count = 60;

  /** What is in an output of which one change failed, and the write that met it was made again. */
  const withFailure = async (untilFailure: number, hasEffect: boolean): Promise<string> => {
    const bytes = new FailingBytes();
    Object.assign(bytes, { untilFailure, hasEffect });
    const output = new CappedOutput(bytes, limit);
    for (let at = 0; at < count; at++) await output.write(line(at)).catch(() => output.write(line(at)));
    bytes.untilFailure = Infinity;
    await output.close();
    return bytes.content.toString();
  };

  it.each([
    ["had no effect", false],
    ["had its effect all the same", true],
  ])("and %s may be made again, at every step", async (_, hasEffect) => {
    const whole = await withFailure(Infinity, hasEffect);
    for (let step = 0; step < 400; step++)
      expect([step, await withFailure(step, hasEffect)]).toEqual([step, whole]);
  });

  it("and is not made again leaves nothing behind that another write does not cover", async () => {
    const bytes = new FailingBytes();
    const output = new CappedOutput(bytes, 1_000);
    await output.write("first\n");
    Object.assign(bytes, { untilFailure: 2, hasEffect: true });
    await expect(output.write("a line that is given up half way\n")).rejects.toThrow("lost");
    await output.write("last\n");
    expect(bytes.content.toString()).toBe("first\nlast\n");
  });

  it("and is not made again leaves what there is of it when it is closed", async () => {
    const bytes = new FailingBytes();
    const output = new CappedOutput(bytes, 1_000);
    await output.write("first\n");
    Object.assign(bytes, { untilFailure: 1, hasEffect: true });
    await expect(output.write("a line that is given up half way\n")).rejects.toThrow("lost");
    await output.close();
    expect(bytes.content.toString()).toBe("first\na line that is");
  });
});
