/**
 * A job's output on its way to the log: opened by the first write, in order, with backpressure for who waits.
 * An output that fails or hangs fails no job: it is told once, and the rest is dropped.
 */
import { type Clock, wakeAfter } from "../clock.js";
import { messageOf } from "../errors.js";
import type { Logger } from "../logger.js";
import type { JobOutput } from "../state/jobs/job-log.js";
import { SecretFilter } from "./secrets.js";
import { WaitingBytes } from "./waiting-bytes.js";

export interface OutputPlace {
  readonly clock: Clock;
  readonly logger: Logger;
  /** How long a write may take before the output is given up, in milliseconds. */
  readonly outputTimeoutMs: number;
  openOutput(jobId: string): Promise<JobOutput>;
}

/** What waits to be written; who writes more without waiting loses it. */
const MOST_WAITING_BYTES = 8_000_000;
/** What is written at once, within the time that a write may take. */
const PIECE_BYTES = 262_144;

export class OutputWriter {
  readonly #jobId: string;
  readonly #place: OutputPlace;
  readonly #filter: SecretFilter | undefined;
  /** What came out of the filter. */
  readonly #clean = new WaitingBytes();
  readonly #waiting = new WaitingBytes();
  /** How much of what waited is being written. */
  #takenBytes = 0;
  #droppedBytes = 0;
  #output: JobOutput | undefined;
  #writing: Promise<void> | undefined;
  #isOver = false;
  #isTold = false;

  constructor(jobId: string, place: OutputPlace, secrets: readonly string[] = []) {
    this.#jobId = jobId;
    this.#place = place;
    if (secrets.length > 0) this.#filter = new SecretFilter(secrets);
  }

  /** Resolves when nothing waits any more; never rejects. The caller may use its buffer again at once. */
  write(chunk: string | Uint8Array): Promise<void> {
    if (this.#isOver) return Promise.resolve();
    const bytes = Buffer.byteLength(chunk);
    if (this.#waiting.size + this.#takenBytes + bytes > MOST_WAITING_BYTES) this.#droppedBytes += bytes;
    else this.#waiting.add(chunk);
    return this.#drain();
  }

  /** Waits for what was written, for a bounded time. What is written later is dropped. */
  async close(): Promise<void> {
    const writing = this.#drain();
    this.#isOver = true;
    const finish = async (): Promise<void> => {
      await writing;
      const held = this.#filter?.end() ?? "";
      if (held !== "") await this.#output?.write(Buffer.from(held, "latin1"));
      await this.#output?.close();
    };
    await this.#attempt(finish);
    this.#abandon();
  }

  async #drain(): Promise<void> {
    if (this.#hasMore()) this.#writing ??= this.#writeAll();
    await this.#writing;
  }

  #hasMore(): boolean {
    return this.#waiting.size > 0 || this.#droppedBytes > 0;
  }

  async #writeAll(): Promise<void> {
    if (this.#output === undefined && !(await this.#attempt(() => this.#open()))) this.#abandon();
    while (this.#hasMore()) {
      if (this.#waiting.size === 0) this.#tellDropped();
      await this.#writeBatch(this.#waiting.take());
    }
    this.#writing = undefined;
  }

  async #open(): Promise<void> {
    const output = await this.#place.openOutput(this.#jobId);
    // One that was opened too late has nothing to take, and is not left open.
    if (this.#hasMore()) this.#output = output;
    else await output.close();
  }

  async #writeBatch(batch: Buffer): Promise<void> {
    this.#takenBytes = batch.length;
    for (let at = 0; at < batch.length && this.#takenBytes > 0; at += PIECE_BYTES) {
      const piece = batch.subarray(at, at + PIECE_BYTES);
      if (!(await this.#attempt(async () => this.#output?.write(this.#cleaned(piece))))) this.#abandon();
      else this.#takenBytes -= piece.length;
    }
  }

  #cleaned(piece: Buffer): Buffer {
    if (this.#filter === undefined) return piece;
    this.#clean.add(this.#filter.add(piece), "latin1");
    return this.#clean.take();
  }

  #tellDropped(): void {
    this.#waiting.add(`\n[${this.#droppedBytes} bytes of output came too fast to be kept]\n`);
    this.#droppedBytes = 0;
  }

  #abandon(): void {
    this.#isOver = true;
    this.#filter?.end();
    this.#waiting.take();
    this.#takenBytes = 0;
    this.#droppedBytes = 0;
  }

  /** Whether it worked, in time. */
  #attempt(act: () => Promise<void>): Promise<boolean> {
    const { clock, logger, outputTimeoutMs } = this.#place;
    return new Promise((resolve) => {
      const fail = (reason: string): void => {
        callOff();
        if (!this.#isTold) logger.warn(`Could not keep the output of ${this.#jobId}: ${reason}`);
        this.#isTold = true;
        resolve(false);
      };
      const callOff = wakeAfter(clock, outputTimeoutMs, () => fail(`no answer in ${outputTimeoutMs} ms`));
      const succeed = (): void => {
        callOff();
        resolve(true);
      };
      act().then(succeed, (error: unknown) => fail(messageOf(error)));
    });
  }
}
