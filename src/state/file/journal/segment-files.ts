/**
 * The files of a journal, read: which segments there are, a line at a position, and the lines of segments in either
 * direction. Files that are in use stay open; writing is elsewhere.
 */
import type { FileHandle } from "node:fs/promises";
import { join } from "node:path";
import type { Logger } from "../../../logger.js";
import { StateFileError } from "../../errors.js";
import { attempt, closeQuietly, type Disk, openRegular, unless } from "../disk.js";
import { linePieces, readRange } from "../line-pieces.js";
import { decodeLine, findLines, type FoundLine, type JournalLine } from "./journal-line.js";
import { type JournalEntry, offsetOf, positionOf, segmentOf } from "./journal-part.js";

const SEGMENT_FILE = /^([1-9]\d{0,8})\.jsonl$/;
const OTHER_FILE = /^([1-9]\d{0,8})\.(?:ids|jsonl\.tmp|ids\.tmp)$/;
const NEWLINE = 10;
/** Most lines are read at once. */
const LINE_BYTES = 4_096;
const PIECE_BYTES = 1_000_000;
const MOST_OPEN = 8;

export interface ScanOptions {
  /** Lines from this position on. @default the first */
  readonly from?: number | undefined;
  /** Lines before this position. @default the end */
  readonly before?: number | undefined;
  /** @default false */
  readonly newestFirst?: boolean | undefined;
}

export interface SegmentNames {
  /** The numbers of the segments, the oldest first. */
  readonly segments: readonly number[];
  /** Other files of ours, with the number of their segment. */
  readonly others: readonly { readonly name: string; readonly segment: number }[];
}

interface OpenFile {
  readonly handle: Promise<FileHandle | undefined>;
  users: number;
}

export class SegmentFiles {
  readonly directory: string;
  readonly #disk: Disk;
  readonly #logger: Logger;
  /** In the order of their last use. */
  readonly #open = new Map<number, OpenFile>();
  readonly #reported = new Set<number>();

  constructor(disk: Disk, directory: string, logger: Logger) {
    this.directory = directory;
    this.#disk = disk;
    this.#logger = logger;
  }

  path(segment: number): string {
    return join(this.directory, `${segment}.jsonl`);
  }

  indexPath(segment: number): string {
    return join(this.directory, `${segment}.ids`);
  }

  /** What is there that is ours by its name; nothing where there is no directory. */
  async list(): Promise<SegmentNames> {
    const { directory } = this;
    const stats = await attempt(directory, "stat", unless(["ENOENT"], this.#disk.lstat(directory)));
    if (stats?.isDirectory() === false) {
      const reason = stats.isSymbolicLink() ? "it is a symbolic link" : "it is not a directory";
      throw new StateFileError(directory, "open", new Error(reason));
    }
    const listing = unless(["ENOENT"], this.#disk.readdir(directory));
    const names = stats === undefined ? [] : ((await attempt(directory, "list", listing)) ?? []);
    const segments = names.flatMap((name) => SEGMENT_FILE.exec(name)?.[1] ?? []).map(Number);
    const others = names.flatMap((name) => {
      const segment = OTHER_FILE.exec(name)?.[1];
      return segment === undefined ? [] : [{ name, segment: Number(segment) }];
    });
    return { segments: segments.toSorted((a, b) => a - b), others };
  }

  /** `undefined` where the file does not exist. */
  size(segment: number): Promise<number | undefined> {
    return this.#with(segment, async (handle, path) => (await attempt(path, "stat", handle.stat())).size);
  }

  /** The line that begins there; `undefined` when it is damaged or gone. */
  readLine(position: number): Promise<JournalLine | undefined> {
    const offset = offsetOf(position);
    return this.#with(segmentOf(position), async (handle, path) => {
      for (let length = LINE_BYTES; ; length *= 8) {
        const bytes = await readRange(handle, path, offset, offset + length);
        const end = bytes.indexOf(NEWLINE);
        if (end >= 0) return decodeLine(bytes, 0, end);
        if (bytes.length < length) return undefined;
      }
    });
  }

  /** The lines of a segment between two offsets, many at a time, with lines that are torn or damaged among them. */
  async *lines(segment: number, from: number, to: number): AsyncGenerator<readonly FoundLine[], void> {
    const file = this.#use(segment);
    try {
      const handle = await file.handle;
      if (handle === undefined) return;
      let offset = from;
      for await (const piece of linePieces(handle, this.path(segment), from, to)) {
        yield moved(findLines(piece), offset);
        offset += piece.length;
      }
    } finally {
      this.#release(file);
    }
  }

  /** The decisions of all segments; reports damage among them once per segment. */
  async *scan({
    from = 0,
    before = Infinity,
    newestFirst = false,
  }: ScanOptions): AsyncGenerator<JournalEntry, void> {
    const { segments } = await this.list();
    const wanted = segments.filter(
      (segment) => segment >= segmentOf(from) && positionOf(segment, 0) < before,
    );
    for (const segment of newestFirst ? wanted.toReversed() : wanted) {
      // Removed since.
      const size = await this.size(segment);
      if (size === undefined) continue;
      const start = segment === segmentOf(from) ? offsetOf(from) : 0;
      const end = segment === segmentOf(before) ? Math.min(size, offsetOf(before)) : size;
      const lines = newestFirst ? this.#linesBackward(segment, start, end) : this.lines(segment, start, end);
      for await (const found of lines)
        for (const { start: offset, line, state } of found) {
          if (state === "damaged") this.#reportDamage(segment, offset);
          if (line === undefined || line.snapshot !== undefined) continue;
          yield { position: positionOf(segment, offset), records: line.records };
        }
    }
  }

  /** As `lines`, from the end. */
  async *#linesBackward(
    segment: number,
    from: number,
    to: number,
  ): AsyncGenerator<readonly FoundLine[], void> {
    const file = this.#use(segment);
    try {
      const handle = await file.handle;
      if (handle === undefined) return;
      let rest: Buffer = Buffer.alloc(0);
      for (let end = to; end > from;) {
        const start = Math.max(from, end - PIECE_BYTES);
        const bytes = Buffer.concat([await readRange(handle, this.path(segment), start, end), rest]);
        // What comes before the first newline may begin earlier.
        const first = start === from ? 0 : bytes.indexOf(NEWLINE) + 1;
        rest = bytes.subarray(0, first === 0 && start > from ? bytes.length : first);
        if (rest.length < bytes.length)
          yield moved(findLines(bytes.subarray(first)), start + first).toReversed();
        end = start;
      }
    } finally {
      this.#release(file);
    }
  }

  /** Closes the file of a segment that was removed. */
  forget(segment: number): void {
    const file = this.#open.get(segment);
    this.#open.delete(segment);
    if (file?.users === 0) void this.#close(file);
  }

  async close(): Promise<void> {
    const files = [...this.#open.values()];
    this.#open.clear();
    await Promise.all(files.filter(({ users }) => users === 0).map((file) => this.#close(file)));
  }

  async #with<Result>(
    segment: number,
    task: (handle: FileHandle, path: string) => Promise<Result>,
  ): Promise<Result | undefined> {
    const file = this.#use(segment);
    try {
      const handle = await file.handle;
      return handle === undefined ? undefined : await task(handle, this.path(segment));
    } finally {
      this.#release(file);
    }
  }

  #use(segment: number): OpenFile {
    const file = this.#open.get(segment) ?? {
      handle: openRegular(this.#disk, this.path(segment)),
      users: 0,
    };
    this.#open.delete(segment);
    this.#open.set(segment, file);
    file.users++;
    file.handle.then(
      (handle) => handle === undefined && this.#drop(segment, file),
      () => this.#drop(segment, file),
    );
    return file;
  }

  #release(file: OpenFile): void {
    file.users--;
    const isForgotten = file.users === 0 && ![...this.#open.values()].includes(file);
    if (isForgotten) void this.#close(file);
    for (const [segment, { users }] of this.#open) {
      if (this.#open.size <= MOST_OPEN) break;
      if (users === 0) this.forget(segment);
    }
  }

  /** What could not be opened is tried again by the next caller. */
  #drop(segment: number, file: OpenFile): void {
    if (this.#open.get(segment) === file) this.#open.delete(segment);
  }

  async #close({ handle }: OpenFile): Promise<void> {
    const opened = await handle.catch(() => undefined);
    if (opened !== undefined) await closeQuietly(opened);
  }

  #reportDamage(segment: number, offset: number): void {
    if (this.#reported.has(segment)) return;
    this.#reported.add(segment);
    this.#logger.warn(
      `Damage in ${this.path(segment)}: the line at byte ${offset} cannot be read. Its decision is left out.`,
    );
  }
}

function moved(lines: Iterable<FoundLine>, by: number): readonly FoundLine[] {
  return Array.from(lines, (line) => ({ ...line, start: line.start + by, end: line.end + by }));
}
