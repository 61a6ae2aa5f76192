/**
 * Appends lines to a part of one day, durably, beside other processes that do the same. Whether a line may be
 * written is decided while it is its turn; that it counted, by the order in which the file has it.
 */
import type { FileHandle } from "node:fs/promises";
import { attempt, closeQuietly } from "../disk.js";
import { StateFileError } from "../../errors.js";
import { GroupCommit } from "../../../group-commit.js";
import type { JobEnd, JobStart } from "../../job-log/job-log.js";
import { durationBetween } from "../../job-log/job-record.js";
import type { JobDirectory } from "./job-directory.js";
import { linePieces, readRange } from "../line-pieces.js";
import { endLine, scanLines, startLine } from "./job-line.js";

/** What is to be added about one job: its start, its end, or both. A second start of a job is left out, and a second end. */
export interface JobAddition {
  readonly id: string;
  readonly start: JobStart | undefined;
  readonly end: JobEnd | undefined;
  /** Of the end. `undefined` for the time since the start in the file; `null` is unknown. */
  readonly durationMs: number | null | undefined;
  /** Whether its last line is in the file and counts; set when it was written. */
  isCounted: boolean;
}

/** What a part that takes no new jobs is known to have. */
export interface KnownPart {
  readonly size: number;
  readonly ino: number;
  /** When each of its jobs that have not ended started. */
  readonly open: ReadonlyMap<string, string>;
}

export interface DayFileOptions {
  /** Signs the lines. */
  readonly signature: string;
  /** Called when the file was made in a directory that may hold earlier days. */
  readonly onCreated: () => void;
}

/** When each job of a day started; ENDED for a job that has ended. No objects: a busy day has many jobs. */
type DayIndex = Map<string, string>;
const ENDED = "";

interface NewLine {
  readonly addition: JobAddition;
  readonly text: string;
}

/** What was read beyond the known bytes. */
interface ReadLines {
  readonly bytes: Buffer;
  /** The lines that count. */
  readonly counted: ReadonlySet<string>;
  /** Whether the last line has no newline. */
  readonly isTorn: boolean;
}

export class DayFile {
  readonly #directory: JobDirectory;
  readonly #path: string;
  readonly #options: DayFileOptions;
  readonly #commit = new GroupCommit<readonly JobAddition[]>((batch) => this.#write(batch.flat()));
  /** How large the file was after the last write; a log then begins the next part of the day. */
  size = 0;
  /** What is being added. */
  readonly #adding = new Set<readonly JobAddition[]>();
  /** What the first `#knownBytes` of the file say, all of them whole lines. */
  #index: DayIndex = new Map();
  #knownBytes = 0;
  #inode = 0;
  /** The directory's entry for the file was synced since this process first wrote to it. */
  #isEntryDurable = false;

  constructor(directory: JobDirectory, part: string, options: DayFileOptions, known?: KnownPart) {
    this.#directory = directory;
    this.#path = directory.partPath(part);
    this.#options = options;
    if (known === undefined) return;
    this.#index = new Map(known.open);
    this.#knownBytes = known.size;
    this.#inode = known.ino;
  }

  get isIdle(): boolean {
    return this.#adding.size === 0;
  }

  /** The jobs that have not ended, and the jobs that are being added. */
  jobsUnderWay(): readonly string[] {
    const open = Array.from(this.#index).flatMap(([id, startedAt]) => (startedAt === ENDED ? [] : id));
    return [...open, ...Array.from(this.#adding).flatMap((additions) => additions.map(({ id }) => id))];
  }

  /** Adds the lines of all of them in one write; durable when it resolves, and which of them count is known. */
  async append(additions: readonly JobAddition[]): Promise<void> {
    this.#adding.add(additions);
    try {
      await this.#commit.add(additions);
    } finally {
      this.#adding.delete(additions);
    }
  }

  /** Resolves when everything added so far has been written, or was refused. */
  settled(): Promise<void> {
    return this.#commit.settled();
  }

  async #write(batch: readonly JobAddition[]): Promise<void> {
    let handle = await this.#directory.open(this.#path, "append");
    let isBesideOthers = false;
    if (handle === undefined) {
      if (batch.every(({ start }) => start === undefined)) return;
      ({ handle, isBesideOthers } = await this.#directory.createDay(this.#path));
    }
    try {
      await this.#appendTo(handle, batch);
    } finally {
      await closeQuietly(handle);
    }
    if (isBesideOthers) this.#options.onCreated();
  }

  async #appendTo(handle: FileHandle, batch: readonly JobAddition[]): Promise<void> {
    const { size, ino } = await attempt(this.#path, "stat", handle.stat());
    if (ino !== this.#inode || size < this.#knownBytes) this.#forget();
    this.#inode = ino;
    this.size = size;
    const isTorn = size > this.#knownBytes && (await this.#catchUp(handle, size));

    const { lines, index } = this.#linesFor(batch);
    if (lines.length === 0) return;
    // A crash may have cut the last line short. Truncating the file could remove a line that a second process appends
    // now.
    const bytes = Buffer.from(`${isTorn ? "\n" : ""}${lines.map(({ text }) => text).join("\n")}\n`);
    let bytesWritten = 0;
    try {
      ({ bytesWritten } = await attempt(this.#path, "append", handle.write(bytes)));
      if (bytesWritten < bytes.length)
        throw this.#notWritten(`only ${bytesWritten} of ${bytes.length} bytes fit`);
      const { size: sizeAfter, nlink } = await attempt(this.#path, "stat", handle.stat());
      if (nlink === 0) throw this.#notWritten("the file was replaced meanwhile");
      const isAlone = sizeAfter === size + bytes.length;
      const read = isAlone ? undefined : await this.#learn(handle, sizeAfter);
      if (read?.bytes.includes(bytes) === false)
        throw this.#notWritten("another process has cut it off again");
      this.size = sizeAfter;
      await attempt(this.#path, "sync", handle.datasync());
      if (!this.#isEntryDurable) await this.#directory.sync();
      this.#isEntryDurable = true;
      if (isAlone) {
        for (const [id, startedAt] of index) this.#index.set(id, startedAt);
        this.#knownBytes = sizeAfter;
      }
      for (const { addition, text } of lines) addition.isCounted = read?.counted.has(text) ?? true;
    } catch (error) {
      this.#forget();
      await this.#cutBack(handle, size, bytesWritten);
      throw error;
    }
  }

  /** The lines to write, each decided after the lines before it, and what the index will say of their jobs. */
  #linesFor(batch: readonly JobAddition[]): { readonly lines: readonly NewLine[]; readonly index: DayIndex } {
    const { signature } = this.#options;
    const lines: NewLine[] = [];
    const index: DayIndex = new Map();
    for (const addition of batch) {
      const { id, start, end, durationMs } = addition;
      let startedAt = index.get(id) ?? this.#index.get(id);
      if (start !== undefined && startedAt === undefined) {
        startedAt = start.started_at;
        lines.push({ addition, text: startLine(start, signature) });
      }
      if (end !== undefined && startedAt !== undefined && startedAt !== ENDED) {
        const ms =
          durationMs === undefined ? durationBetween(startedAt, new Date(end.finished_at)) : durationMs;
        startedAt = ENDED;
        lines.push({ addition, text: endLine(id, end, ms, signature) });
      }
      if (startedAt !== undefined) index.set(id, startedAt);
    }
    return { lines, index };
  }

  /** Learns what the file has beyond the known bytes, piece by piece; returns whether the last line has no newline. */
  async #catchUp(handle: FileHandle, size: number): Promise<boolean> {
    let isTorn = false;
    for await (const piece of linePieces(handle, this.#path, this.#knownBytes, size))
      isTorn = this.#learnLines(piece).isTorn;
    return isTorn;
  }

  /** Reads what the file has beyond the known bytes. The first line of its kind counts, as in `readDay`. */
  async #learn(handle: FileHandle, size: number): Promise<ReadLines> {
    return this.#learnLines(await readRange(handle, this.#path, this.#knownBytes, size));
  }

  #learnLines(bytes: Buffer): ReadLines {
    const counted = new Set<string>();
    const { tornBytes } = scanLines(bytes, ({ id, startedAt }, line) => {
      const known = this.#index.get(id);
      const isOpen = known !== undefined && known !== ENDED;
      if (startedAt === undefined ? !isOpen : known !== undefined) return;
      // A copy of the id: as a part of its line it would keep the line in memory.
      this.#index.set(Buffer.from(id, "latin1").toString("latin1"), startedAt ?? ENDED);
      counted.add(line.toString("utf8"));
    });
    this.#knownBytes += bytes.length - tornBytes;
    return { bytes, counted, isTorn: tornBytes > 0 };
  }

  /** Removes a failed append, unless a second process has appended after it. */
  async #cutBack(handle: FileHandle, sizeBefore: number, bytesWritten: number): Promise<void> {
    try {
      const { size } = await handle.stat();
      if (bytesWritten > 0 && size === sizeBefore + bytesWritten) await handle.truncate(sizeBefore);
    } catch {
      // The disk is failing already. A torn line stays behind, or lines that their callers believe to be missing.
    }
  }

  #notWritten(reason: string): StateFileError {
    return new StateFileError(this.#path, "append", new Error(reason));
  }

  #forget(): void {
    this.#index = new Map();
    this.#knownBytes = 0;
    this.#isEntryDurable = false;
  }
}
