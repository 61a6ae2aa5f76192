/**
 * A job's output on its way to the log: opened by the first write, in order, with backpressure for who waits.
 * One that fails or hangs fails no job and holds none up: what comes meanwhile is kept for another try, up to a limit.
 */
import { type Clock, wakeAfter } from "../../clock.js";
import { messageOf } from "../../errors.js";
import type { Logger } from "../../logger.js";
import type { JobOutput } from "../../state/job-log/job-log.js";
import { SecretFilter } from "./secrets.js";
import { WaitingBytes } from "./waiting-bytes.js";

export interface OutputPlace {
  readonly clock: Clock;
  readonly logger: Logger;
  /** How long a write may keep a job waiting, and all that is left to be written its end, in milliseconds. */
  readonly outputTimeoutMs: number;
  openOutput(jobId: string): Promise<JobOutput>;
}

/** What waits to be written; who writes more without waiting loses it. */
const MOST_WAITING_BYTES = 8_000_000;
/** What is written at once, within the time that a write may take. */
const PIECE_BYTES = 262_144;
/** From a failure to the next try. */
const RETRY_MS = 1_000;
const NO_BYTES = Buffer.alloc(0);

export class OutputWriter {
  readonly #jobId: string;
  readonly #place: OutputPlace;
  readonly #filter: SecretFilter | undefined;
  /** What came out of the filter. */
  readonly #clean = new WaitingBytes();
  readonly #waiting = new WaitingBytes();
  /** What of that is to be written next. */
  #batch: Buffer = NO_BYTES;
  /** The first bytes of it as they are to be kept. The same until they are: a write that failed may have had its effect. */
  #piece: Buffer | undefined;
  #droppedBytes = 0;
  /** Whether some of them came while nothing could be written. */
  #wasAway = false;
  #output: JobOutput | undefined;
  #writing: Promise<void> | undefined;
  /** What goes wrong, while it does. */
  #trouble: string | undefined;
  /** Whether a call has not been answered in time. It may be yet, and is not made again before that. */
  #isOverdue = false;
  /** Ends the pause between two tries, or the watch over the one under way. */
  #rouse: () => void = () => {};
  /** What writers wait for. */
  #relief: Promise<void> | undefined;
  #relieve: () => void = () => {};
  #isOver = false;
  #closing: Promise<void> | undefined;
  #isGivenUp = false;
  #isTold = false;

  constructor(jobId: string, place: OutputPlace, secrets: readonly string[] = []) {
    this.#jobId = jobId;
    this.#place = place;
    if (secrets.length > 0) this.#filter = new SecretFilter(secrets);
  }

  /**
   * Resolves when nothing waits any more, or nothing can be written for now; never rejects. The caller may use its
   * buffer again at once.
   */
  write(chunk: string | Uint8Array): Promise<void> {
    if (this.#isOver) return Promise.resolve();
    this.#keep(chunk);
    if (!this.#hasMore()) return Promise.resolve();
    this.#writing ??= this.#writeAll();
    if (this.#trouble !== undefined) return Promise.resolve();
    this.#relief ??= new Promise((resolve) => {
      this.#relieve = () => {
        this.#relief = undefined;
        resolve();
      };
    });
    return this.#relief;
  }

  /** Tries to write what is left, for a bounded time. What is written later is dropped. */
  close(): Promise<void> {
    this.#isOver = true;
    this.#closing ??= this.#close();
    return this.#closing;
  }

  #close(): Promise<void> {
    const { clock, outputTimeoutMs } = this.#place;
    return new Promise((resolve) => {
      const giveUp = (): void => {
        this.#giveUp(this.#trouble ?? `no answer in ${outputTimeoutMs} ms`);
        resolve();
      };
      // What hangs has had its time.
      if (this.#isOverdue) return giveUp();
      const callOff = wakeAfter(clock, outputTimeoutMs, giveUp);
      const end = (): void => {
        callOff();
        resolve();
      };
      this.#finish().then(end, end);
    });
  }

  async #finish(): Promise<void> {
    this.#rouse();
    await this.#writing;
    const held = this.#filter?.end() ?? "";
    if (held !== "" && !this.#isGivenUp) {
      this.#piece = Buffer.from(held, "latin1");
      await this.#writeAll();
    }
    try {
      await this.#output?.close();
    } catch (error) {
      this.#tell(messageOf(error));
    }
  }

  #keep(chunk: string | Uint8Array): void {
    const bytes = Buffer.byteLength(chunk);
    if (this.#waiting.size + this.#batch.length + bytes > MOST_WAITING_BYTES) {
      this.#droppedBytes += bytes;
      if (this.#trouble === undefined) return;
      this.#wasAway = true;
      this.#tell(this.#trouble);
      return;
    }
    this.#tellDropped();
    this.#waiting.add(chunk);
  }

  #hasMore(): boolean {
    return (
      this.#piece !== undefined || this.#batch.length > 0 || this.#waiting.size > 0 || this.#droppedBytes > 0
    );
  }

  async #writeAll(): Promise<void> {
    while (this.#hasMore()) if (!(await this.#isWritten()) && !this.#isGivenUp) await this.#pause();
    this.#writing = undefined;
    this.#relieve();
  }

  /** Whether the next piece is, however long that takes. */
  async #isWritten(): Promise<boolean> {
    const { clock, outputTimeoutMs } = this.#place;
    this.#rouse = wakeAfter(clock, outputTimeoutMs, () => {
      this.#isOverdue = true;
      this.#fail(`no answer in ${outputTimeoutMs} ms`);
    });
    try {
      await this.#writePiece();
      this.#trouble = undefined;
      return true;
    } catch (error) {
      this.#fail(messageOf(error));
      return false;
    } finally {
      this.#isOverdue = false;
      this.#rouse();
    }
  }

  async #writePiece(): Promise<void> {
    const output = this.#output ?? (await this.#place.openOutput(this.#jobId));
    // One that was opened too late has nothing to take, and is not left open.
    if (this.#isGivenUp) return output.close();
    this.#output = output;
    if (this.#batch.length === 0 && this.#piece === undefined) this.#batch = this.#takeWaiting();
    const taken = this.#batch.subarray(0, PIECE_BYTES);
    this.#piece ??= this.#cleaned(taken);
    await output.write(this.#piece);
    this.#piece = undefined;
    // Nothing is kept of one that is done: it may have been large.
    this.#batch = taken.length < this.#batch.length ? this.#batch.subarray(taken.length) : NO_BYTES;
  }

  #takeWaiting(): Buffer {
    if (this.#waiting.size === 0) this.#tellDropped();
    return this.#waiting.take();
  }

  #cleaned(piece: Buffer): Buffer {
    if (this.#filter === undefined) return piece;
    this.#clean.add(this.#filter.add(piece), "latin1");
    return this.#clean.take();
  }

  #tellDropped(): void {
    if (this.#droppedBytes === 0) return;
    const when = this.#wasAway ? "while none could be kept" : "too fast to be kept";
    this.#waiting.add(`\n[${this.#droppedBytes} bytes of output came ${when}]\n`);
    this.#droppedBytes = 0;
    this.#wasAway = false;
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => {
      const callOff = wakeAfter(this.#place.clock, RETRY_MS, resolve);
      this.#rouse = () => {
        callOff();
        resolve();
      };
    });
  }

  #fail(reason: string): void {
    this.#trouble = reason;
    this.#relieve();
  }

  #giveUp(reason: string): void {
    this.#tell(reason);
    this.#isGivenUp = true;
    this.#filter?.end();
    this.#waiting.take();
    this.#batch = NO_BYTES;
    this.#piece = undefined;
    this.#droppedBytes = 0;
    this.#rouse();
    this.#relieve();
    // It ends with what is under way.
    this.#output?.close().catch(() => {});
  }

  #tell(reason: string): void {
    if (!this.#isTold) this.#place.logger.warn(`Could not keep the output of ${this.#jobId}: ${reason}`);
    this.#isTold = true;
  }
}
