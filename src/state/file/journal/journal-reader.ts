/** The journal as other processes read it while its owner writes: loads the parts, and follows what is added. */
import type { FileHandle } from "node:fs/promises";
import type { Logger } from "../../../logger.js";
import { attempt, closeQuietly, type Disk, type FileVersion, isVersion, openRegular } from "../disk.js";
import { readRange } from "../line-pieces.js";
import { HEAD_BYTES } from "./journal-line.js";
import type { JournalEntry, JournalParts } from "./journal-part.js";
import { Replay } from "./replay.js";
import { type ScanOptions, SegmentFiles } from "./segment-files.js";
import { SEALED_MS } from "./segment-writer.js";

export interface JournalReaderOptions {
  readonly directory: string;
  /** Records of other parts are left out. */
  readonly parts: JournalParts;
  readonly disk: Disk;
  readonly logger: Logger;
}

/** How often everything is read again when the owner removes files meanwhile. */
const MOST_LOADS = 3;

export class JournalReader {
  readonly #options: JournalReaderOptions;
  readonly #files: SegmentFiles;
  readonly #reported = new Set<string>();
  #replay: Replay | undefined;
  /** Of the segment that is followed. */
  #handle: FileHandle | undefined;
  #version: FileVersion | undefined;
  /** How the last line begins that was read: the owner may have cut it off since. */
  #lastHead: Buffer | undefined;
  #refreshing: Promise<void> | undefined;

  constructor(options: JournalReaderOptions) {
    this.#options = options;
    this.#files = new SegmentFiles(options.disk, options.directory, options.logger);
  }

  /** Brings the parts up to date. Costs one `stat` while nothing changes. */
  refresh(): Promise<void> {
    this.#refreshing ??= this.#refresh().finally(() => {
      this.#refreshing = undefined;
    });
    return this.#refreshing;
  }

  /** The decision whose line begins at this position; `undefined` when it is damaged or gone. */
  async readAt(position: number): Promise<JournalEntry | undefined> {
    const line = await this.#files.readLine(position);
    return line === undefined ? undefined : { position, records: line.records };
  }

  /** The decisions in the files. The last ones may not be durable yet. */
  scan(options: ScanOptions = {}): AsyncGenerator<JournalEntry, void> {
    return this.#files.scan(options);
  }

  /** Lets go of the files until the next call. */
  async close(): Promise<void> {
    await this.#refreshing?.catch(() => {});
    this.#replay = undefined;
    await this.#letGo();
    await this.#files.close();
  }

  async #refresh(): Promise<void> {
    if (this.#replay === undefined || !(await this.#follow(this.#replay))) await this.#load();
  }

  /** Takes in what was added; `false` when all has to be read again. */
  async #follow(replay: Replay): Promise<boolean> {
    const path = this.#files.path(replay.segment);
    if (this.#handle === undefined) return false;
    const stats = await attempt(path, "stat", this.#handle.stat({ bigint: true }));
    if (stats.nlink > 0n && isVersion(stats, this.#version)) return true;
    if (stats.nlink === 0n || stats.size < replay.end || !(await this.#isKnown(replay))) return false;
    const isSealed = stats.mtimeMs === BigInt(SEALED_MS);
    const hasNext = isSealed && (await this.#files.size(replay.segment + 1)) !== undefined;
    // A segment that has a successor is complete, which it may not have been when its size was asked for.
    const size = hasNext ? await this.#files.size(replay.segment) : Number(stats.size);
    const isRight = await replay.follow(size ?? 0);
    this.#lastHead = await this.#readHead(replay);
    // Where the successor is not there yet, the next call looks for it again.
    this.#version = isSealed ? undefined : { stats, handle: undefined };
    if (!isRight || !hasNext) return isRight;
    await replay.enter(replay.segment + 1);
    return replay.damages.length === 0 && (await this.#hold(replay));
  }

  async #load(): Promise<void> {
    let replay: Replay;
    let isHeld = false;
    for (let loads = 1; ; loads++) {
      await this.#letGo();
      await this.#files.close();
      replay = new Replay(this.#files, this.#options.parts, { isTolerant: true });
      await replay.load();
      isHeld = replay.segment > 0 && (await this.#hold(replay));
      if ((replay.damages.length === 0 && (isHeld || replay.segment === 0)) || loads === MOST_LOADS) break;
    }
    this.#replay = replay;
    for (const { segment, problem } of replay.damages) this.#report(segment, problem);
  }

  /** Follows the segment from now on; `false` when it was removed. */
  async #hold(replay: Replay): Promise<boolean> {
    await this.#letGo();
    this.#handle = await openRegular(this.#options.disk, this.#files.path(replay.segment));
    if (this.#handle === undefined) return false;
    this.#lastHead = await this.#readHead(replay);
    return true;
  }

  /** Whether the last line is the one that was read. */
  async #isKnown(replay: Replay): Promise<boolean> {
    return this.#lastHead?.equals(await this.#readHead(replay)) === true;
  }

  async #readHead({ segment, lastStart }: Replay): Promise<Buffer> {
    if (this.#handle === undefined) return Buffer.alloc(0);
    return readRange(this.#handle, this.#files.path(segment), lastStart, lastStart + HEAD_BYTES);
  }

  async #letGo(): Promise<void> {
    const handle = this.#handle;
    this.#handle = undefined;
    this.#version = undefined;
    if (handle !== undefined) await closeQuietly(handle);
  }

  #report(segment: number, problem: string): void {
    const report = `Damage in ${this.#files.path(segment)}: ${problem}.`;
    if (this.#reported.has(report)) return;
    this.#reported.add(report);
    this.#options.logger.warn(report);
  }
}
