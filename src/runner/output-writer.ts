/**
 * A job's output on its way to the log: opened by the first write, in order, with backpressure for who waits.
 * An output that fails or hangs fails no job: it is told once, and the rest is dropped.
 */
import { type Clock, wakeAfter } from "../clock.js";
import { messageOf } from "../errors.js";
import type { Logger } from "../logger.js";
import type { JobOutput } from "../state/jobs/job-log.js";
import { SecretFilter } from "./secrets.js";

export interface OutputPlace {
  readonly clock: Clock;
  readonly logger: Logger;
  /** How long a write may take before the output is given up, in milliseconds. */
  readonly outputTimeoutMs: number;
  openOutput(jobId: string): Promise<JobOutput>;
}

/** What waits to be written; who writes more without waiting loses it. */
const MOST_WAITING_BYTES = 8_000_000;
const BATCH_BYTES = 256_000;

export class OutputWriter {
  readonly #jobId: string;
  readonly #place: OutputPlace;
  readonly #secrets: SecretFilter;
  #output: JobOutput | undefined;
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #droppedBytes = 0;
  #writing: Promise<void> | undefined;
  #isOver = false;
  #isTold = false;

  constructor(jobId: string, place: OutputPlace, secrets: readonly string[] = []) {
    this.#jobId = jobId;
    this.#place = place;
    this.#secrets = new SecretFilter(secrets);
  }

  /** Resolves when nothing waits any more; never rejects. */
  write(chunk: string | Uint8Array): Promise<void> {
    if (this.#isOver) return Promise.resolve();
    const bytes = typeof chunk === "string" ? Buffer.from(chunk) : this.#own(chunk);
    if (this.#waitingBytes + bytes.length > MOST_WAITING_BYTES) this.#droppedBytes += bytes.length;
    else this.#queue(this.#secrets.add(bytes));
    return this.#drain();
  }

  /** Waits for what was written, for a bounded time. What is written later is dropped. */
  async close(): Promise<void> {
    this.#queue(this.#secrets.end());
    const writing = this.#drain();
    this.#isOver = true;
    const finish = async (): Promise<void> => {
      await writing;
      await this.#output?.close();
    };
    await this.#attempt(finish);
    this.#abandon();
  }

  /** A copy of what has to wait: the caller may use its buffer again before its turn has come. */
  #own(chunk: Uint8Array): Buffer {
    const isNext = this.#output !== undefined && this.#writing === undefined;
    return isNext ? Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length) : Buffer.from(chunk);
  }

  #queue(bytes: Buffer): void {
    if (bytes.length === 0) return;
    this.#waiting.push(bytes);
    this.#waitingBytes += bytes.length;
  }

  async #drain(): Promise<void> {
    if (this.#waiting.length === 0 && this.#droppedBytes === 0) return;
    this.#writing ??= this.#writeAll();
    await this.#writing;
  }

  async #writeAll(): Promise<void> {
    while (this.#waiting.length > 0 || this.#droppedBytes > 0)
      if (!(await this.#attempt(() => this.#writeBatch()))) this.#abandon();
    this.#writing = undefined;
  }

  async #writeBatch(): Promise<void> {
    this.#output ??= await this.#place.openOutput(this.#jobId);
    // One that was opened too late has nothing to take, and is not left open.
    if (this.#waitingBytes === 0 && this.#droppedBytes === 0) await this.#output.close();
    else await this.#output.write(this.#nextBatch());
  }

  #nextBatch(): Buffer {
    const batch: Buffer[] = [];
    let bytes = 0;
    for (const next of this.#waiting) {
      if (bytes > 0 && bytes + next.length > BATCH_BYTES) break;
      batch.push(next);
      bytes += next.length;
    }
    this.#waiting.splice(0, batch.length);
    this.#waitingBytes -= bytes;
    if (this.#waiting.length === 0 && this.#droppedBytes > 0) {
      batch.push(Buffer.from(`\n[${this.#droppedBytes} bytes of output came too fast to be kept]\n`));
      this.#droppedBytes = 0;
    }
    return batch.length === 1 && batch[0] !== undefined ? batch[0] : Buffer.concat(batch);
  }

  #abandon(): void {
    this.#isOver = true;
    this.#waiting = [];
    this.#waitingBytes = 0;
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
