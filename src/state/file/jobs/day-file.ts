/**
 * Appends lines to one day's file, durably, beside other processes that do the same. Whether a line may be
 * written is decided while it is its turn; that it counted, by the order in which the file has it.
 */
import type { FileHandle } from "node:fs/promises";
import { attempt, closeQuietly } from "../disk.js";
import { StateFileError } from "../../errors.js";
import { GroupCommit } from "../../../group-commit.js";
import { DayIndex } from "./job-day.js";
import { type JobDirectory, readRange } from "./job-directory.js";
import { scanLines } from "./job-line.js";

/** A line to add, made once it is known what the file says of its job. */
export interface DayChange {
  readonly id: string;
  /** `undefined` for the line of an end. */
  readonly startedAt: string | undefined;
  /** Whether its line is in the file and counts; set when it was written. */
  counted: boolean;
  /** The line, given when the job started. */
  lineAfter(startedAt: string): string;
}

/** Lines that are being written. */
interface PendingLines {
  /** With a newline between two of them. */
  readonly text: string;
  /** Whose they are, in the same order. */
  readonly changes: readonly DayChange[];
}

export class DayFile {
  readonly #directory: JobDirectory;
  readonly #day: string;
  readonly #path: string;
  readonly #onCreated: () => void;
  readonly #commit = new GroupCommit<readonly DayChange[]>((batch) => this.#write(batch.flat()));
  #pending = 0;
  /** What the first `#knownBytes` of the file say, all of them whole lines. */
  #index = new DayIndex();
  #knownBytes = 0;
  #inode = 0;
  /** The file has a last line without newline. */
  #isTorn = false;
  /** The directory's entry for the file was synced since this process first wrote to it. */
  #isEntryDurable = false;

  constructor(directory: JobDirectory, day: string, onCreated: () => void) {
    this.#directory = directory;
    this.#day = day;
    this.#path = directory.dayPath(day);
    this.#onCreated = onCreated;
  }

  get isIdle(): boolean {
    return this.#pending === 0;
  }

  /** Adds the lines of all of them in one write; durable when it resolves, and which of them count is known. */
  async append(changes: readonly DayChange[]): Promise<void> {
    this.#pending++;
    try {
      await this.#commit.add(changes);
    } finally {
      this.#pending--;
    }
  }

  /** Resolves when everything added so far has been written, or was refused. */
  settled(): Promise<void> {
    return this.#commit.settled();
  }

  async #write(batch: readonly DayChange[]): Promise<void> {
    let handle = await this.#directory.openDay(this.#day);
    const isNew = handle === undefined;
    if (handle === undefined) {
      if (batch.every(({ startedAt }) => startedAt === undefined)) return;
      handle = await this.#directory.createDay(this.#day);
    }
    try {
      await this.#appendTo(handle, batch);
    } finally {
      await closeQuietly(handle);
    }
    if (isNew) this.#onCreated();
  }

  async #appendTo(handle: FileHandle, batch: readonly DayChange[]): Promise<void> {
    const { size, ino } = await attempt(this.#path, "stat", handle.stat());
    if (ino !== this.#inode || size < this.#knownBytes) this.#forget();
    this.#inode = ino;
    await this.#learn(handle, size);

    const { text, changes } = this.#linesFor(batch);
    if (changes.length === 0) return;
    // A crash may have cut the last line short. Truncating the file could remove a line that a second process appends
    // now.
    const bytes = Buffer.from(`${this.#isTorn ? "\n" : ""}${text}\n`);
    let bytesWritten = 0;
    try {
      ({ bytesWritten } = await attempt(this.#path, "append", handle.write(bytes)));
      if (bytesWritten < bytes.length)
        throw this.#notWritten(`only ${bytesWritten} of ${bytes.length} bytes fit`);
      const counted = await this.#countedLines(handle, size, bytes, changes);
      await attempt(this.#path, "sync", handle.datasync());
      if (!this.#isEntryDurable) await this.#directory.sync();
      this.#isEntryDurable = true;
      const lines = counted === undefined ? [] : text.split("\n");
      for (const [index, change] of changes.entries())
        change.counted = counted?.has(lines[index] ?? "") ?? true;
    } catch (error) {
      this.#forget();
      await this.#cutBack(handle, size, bytesWritten);
      throw error;
    }
  }

  /** The lines to write and their changes, each decided after the lines before it. */
  #linesFor(batch: readonly DayChange[]): PendingLines {
    const lines: string[] = [];
    const changes: DayChange[] = [];
    const soon = new DayIndex(this.#index);
    for (const change of batch) {
      const startedAt = soon.add(change);
      if (startedAt === undefined) continue;
      lines.push(change.lineAfter(startedAt));
      changes.push(change);
    }
    return { text: lines.join("\n"), changes };
  }

  /**
   * Which of the lines just written count, given what other processes wrote before them; `undefined` when all do,
   * because no other process wrote.
   */
  async #countedLines(
    handle: FileHandle,
    sizeBefore: number,
    written: Buffer,
    changes: readonly DayChange[],
  ): Promise<ReadonlySet<string> | undefined> {
    const { size } = await attempt(this.#path, "stat", handle.stat());
    if (size !== sizeBefore + written.length) {
      const { bytes, counted } = await this.#learn(handle, size);
      if (!bytes.includes(written)) throw this.#notWritten("another process has cut it off again");
      return counted;
    }
    for (const change of changes) this.#index.add(change);
    this.#knownBytes = size;
    this.#isTorn = false;
    return undefined;
  }

  /** Takes in what the file has beyond the known bytes, and answers that and the lines in it that count. */
  async #learn(handle: FileHandle, size: number): Promise<{ bytes: Buffer; counted: ReadonlySet<string> }> {
    const bytes = await readRange(handle, this.#path, this.#knownBytes, size);
    const counted = new Set<string>();
    const tornBytes = scanLines(bytes, (glance, line) => {
      if (this.#index.add(glance) !== undefined) counted.add(line.toString("utf8"));
    });
    this.#knownBytes += bytes.length - tornBytes;
    this.#isTorn = tornBytes > 0;
    return { bytes, counted };
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
    this.#index = new DayIndex();
    this.#knownBytes = 0;
    this.#isTorn = false;
    this.#isEntryDurable = false;
  }
}
