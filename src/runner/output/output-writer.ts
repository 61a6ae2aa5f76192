/**
 * Writes a job's output to the log: in order, with backpressure, opened by the first write.
 * An output that fails or hangs neither fails nor delays its job: the writer keeps what comes meanwhile, up to a limit,
 * and tries again.
 */
import { type Clock, wakeAfter, withTimeout } from "../../clock.js";
import { messageOf } from "../../errors.js";
import type { Logger } from "../../logger.js";
import type { JobOutput } from "../../state/job-log/job-log.js";
import { freeChunk } from "./free-chunk.js";
import { SecretFilter } from "./secrets.js";

export interface OutputOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** How long a single write may keep a job waiting, and the remaining writes its end, in milliseconds. */
  readonly outputTimeoutMs: number;
  openOutput(jobId: string): Promise<JobOutput>;
}

/** A job that writes more than this without waiting loses the rest. */
const MOST_WAITING_BYTES = 8_000_000;
/** The longest single write, so that each ends within its time limit. */
const PIECE_BYTES = 262_144;
/** From a failed write to the next try. */
const RETRY_MS = 1_000;

export class OutputWriter {
  readonly #jobId: string;
  readonly #options: OutputOptions;
  readonly #filter: SecretFilter | undefined;
  #waiting: Buffer[] = [];
  /** How many bytes are not written yet, including the current piece. */
  #waitingBytes = 0;
  /** The current piece without secrets. A retry writes the same bytes: a write that failed may have had its effect. */
  #piece: Buffer | undefined;
  /** How many of the waiting bytes the current piece stands for. */
  #pieceBytes = 0;
  #droppedBytes = 0;
  /** Whether some bytes were dropped while writes failed. */
  #droppedInTrouble = false;
  #output: JobOutput | undefined;
  #writing: Promise<void> | undefined;
  /** Why writes fail, while they do. */
  #trouble: string | undefined;
  /** Whether a call has passed its time limit. The writer makes no other call until that one ends. */
  #isOverdue = false;
  /** Ends the pause between two tries, or the time limit of the current one. */
  #cancelTimer: () => void = () => {};
  /** What callers of `write` wait for. */
  #drained: Promise<void> | undefined;
  #drain: () => void = () => {};
  #closing: Promise<void> | undefined;
  #isAbandoned = false;
  #isLogged = false;

  constructor(jobId: string, options: OutputOptions, secrets: readonly string[] = []) {
    this.#jobId = jobId;
    this.#options = options;
    if (secrets.length > 0) this.#filter = new SecretFilter(secrets);
  }

  /**
   * Resolves when everything is written, or when writes fail for now; never rejects. Copies the chunk: the caller may
   * reuse its buffer at once.
   */
  write(chunk: string | Uint8Array): Promise<void> {
    if (this.#closing !== undefined) return Promise.resolve();
    this.#keep(chunk);
    if (!this.#hasMore()) return Promise.resolve();
    this.#writing ??= this.#writeAll();
    if (this.#trouble !== undefined) return Promise.resolve();
    this.#drained ??= new Promise((resolve) => {
      this.#drain = () => {
        this.#drained = undefined;
        resolve();
      };
    });
    return this.#drained;
  }

  /** Writes what is left, within the time limit. Drops later writes. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const { clock, outputTimeoutMs } = this.#options;
    const abandon = (): void => this.#abandon(this.#trouble ?? `no reply in ${outputTimeoutMs} ms`);
    if (this.#isOverdue) abandon();
    else await withTimeout(clock, outputTimeoutMs, this.#finish(), abandon);
  }

  async #finish(): Promise<void> {
    this.#cancelTimer();
    await this.#writing;
    const held = this.#filter?.end() ?? "";
    if (held !== "" && !this.#isAbandoned) {
      this.#piece = Buffer.from(held, "latin1");
      await this.#writeAll();
    }
    try {
      await this.#output?.close();
    } catch (error) {
      this.#logOnce(messageOf(error));
    }
  }

  #keep(chunk: string | Uint8Array): void {
    const bytes = Buffer.byteLength(chunk);
    if (this.#waitingBytes + bytes > MOST_WAITING_BYTES) {
      this.#droppedBytes += bytes;
      if (this.#trouble === undefined) return;
      this.#droppedInTrouble = true;
      this.#logOnce(this.#trouble);
      return;
    }
    this.#noteDropped();
    this.#add(chunk);
  }

  #add(chunk: string | Uint8Array): void {
    const copy = Buffer.from(chunk);
    this.#waiting.push(copy);
    this.#waitingBytes += copy.length;
  }

  #hasMore(): boolean {
    return this.#piece !== undefined || this.#waiting.length > 0 || this.#droppedBytes > 0;
  }

  async #writeAll(): Promise<void> {
    while (this.#hasMore()) if (!(await this.#tryPiece()) && !this.#isAbandoned) await this.#pause();
    this.#writing = undefined;
    this.#drain();
  }

  /** Whether the next piece is written, however long that takes. */
  async #tryPiece(): Promise<boolean> {
    const { clock, outputTimeoutMs } = this.#options;
    this.#cancelTimer = wakeAfter(clock, outputTimeoutMs, () => {
      this.#isOverdue = true;
      this.#fail(`no reply in ${outputTimeoutMs} ms`);
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
      this.#cancelTimer();
    }
  }

  async #writePiece(): Promise<void> {
    const output = this.#output ?? (await this.#options.openOutput(this.#jobId));
    // It opened too late: do not leave it open.
    if (this.#isAbandoned) return output.close();
    this.#output = output;
    const piece = this.#piece ?? this.#takePiece();
    this.#piece = piece;
    await output.write(piece);
    freeChunk(piece);
    this.#piece = undefined;
    this.#waitingBytes -= this.#pieceBytes;
    this.#pieceBytes = 0;
  }

  #takePiece(): Buffer {
    if (this.#waiting.length === 0) this.#noteDropped();
    let count = 0;
    let bytes = 0;
    while (bytes < PIECE_BYTES && count < this.#waiting.length) bytes += this.#waiting[count++]?.length ?? 0;
    const taken = joined(this.#waiting.splice(0, count));
    if (taken.length > PIECE_BYTES) this.#waiting.unshift(taken.subarray(PIECE_BYTES));
    const piece = taken.subarray(0, PIECE_BYTES);
    this.#pieceBytes = piece.length;
    if (this.#filter === undefined) return piece;
    const clean = Buffer.from(this.#filter.add(piece), "latin1");
    freeChunk(piece);
    return clean;
  }

  /** Adds a line to the output that says how much of it is missing. */
  #noteDropped(): void {
    if (this.#droppedBytes === 0) return;
    const when = this.#droppedInTrouble ? "while none could be kept" : "too fast to be kept";
    this.#add(`\n[${this.#droppedBytes} bytes of output came ${when}]\n`);
    this.#droppedBytes = 0;
    this.#droppedInTrouble = false;
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => {
      const cancel = wakeAfter(this.#options.clock, RETRY_MS, resolve);
      this.#cancelTimer = () => {
        cancel();
        resolve();
      };
    });
  }

  #fail(reason: string): void {
    this.#trouble = reason;
    this.#drain();
  }

  #abandon(reason: string): void {
    this.#logOnce(reason);
    this.#isAbandoned = true;
    this.#filter?.end();
    this.#waiting = [];
    this.#waitingBytes = 0;
    this.#piece = undefined;
    this.#pieceBytes = 0;
    this.#droppedBytes = 0;
    this.#cancelTimer();
    this.#drain();
    // It closes after the write that hangs.
    this.#output?.close().catch(() => {});
  }

  #logOnce(reason: string): void {
    if (!this.#isLogged) this.#options.logger.warn(`Could not keep the output of ${this.#jobId}: ${reason}`);
    this.#isLogged = true;
  }
}

/** One chunk with the bytes of all, which are freed. */
function joined(chunks: readonly Buffer[]): Buffer {
  const [first] = chunks;
  if (first !== undefined && chunks.length === 1) return first;
  const all = Buffer.concat(chunks);
  chunks.forEach(freeChunk);
  return all;
}
