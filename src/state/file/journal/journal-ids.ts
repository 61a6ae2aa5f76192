/**
 * Finds lines by the ids in them: the open segment's are in memory, the sealed segments have an index each. An index that
 * is missing or damaged is made again from its segment.
 */
import { StateFileError } from "../../errors.js";
import { attempt, closeQuietly, type Disk, openRegular } from "../disk.js";
import { readRange } from "../line-pieces.js";
import { type IndexedId, IdIndex, MOST_IDS } from "./id-index.js";
import { type JournalParts, type JournalRecord, positionOf } from "./journal-part.js";
import type { SegmentFiles } from "./segment-files.js";
import { PreparedFile } from "./segment-writer.js";

export class JournalIds {
  readonly #disk: Disk;
  readonly #files: SegmentFiles;
  readonly #parts: JournalParts;
  /** Of the sealed segments, the oldest first. */
  #indexes = new Map<number, IdIndex>();
  /** Positions in the open segment, by part and id. */
  #open = new Map<string, Map<string, number>>();
  #openCount = 0;

  constructor(disk: Disk, files: SegmentFiles, parts: JournalParts) {
    this.#disk = disk;
    this.#files = files;
    this.#parts = parts;
  }

  /** Knows the ids of all segments before the open one. */
  async open(openSegment: number): Promise<void> {
    const { segments } = await this.#files.list();
    const indexes = new Map<number, IdIndex>();
    for (const segment of segments.filter((number) => number < openSegment)) {
      const index = this.#indexes.get(segment) ?? (await this.#read(segment));
      indexes.set(segment, index ?? (await this.#rebuild(segment)));
    }
    this.#indexes = indexes;
  }

  /** Whether the open segment should be sealed. */
  get isFull(): boolean {
    return this.#openCount >= MOST_IDS / 2;
  }

  /** Takes in a line of the open segment. */
  note(records: readonly JournalRecord[], position: number): void {
    for (const { part, data } of records)
      for (const id of this.#idsOf(part, data)) {
        const ids = this.#open.get(part) ?? new Map<string, number>();
        this.#open.set(part, ids);
        this.#openCount++;
        ids.set(id, position);
      }
  }

  /** Forgets the ids of the open segment. */
  clearOpen(): void {
    this.#open = new Map();
    this.#openCount = 0;
  }

  /** The position of the last line in the open segment that has the id. */
  findOpen(part: string, id: string): number | undefined {
    return this.#open.get(part)?.get(id);
  }

  /** The position of the last line in the sealed segments that has the id. */
  async findSealed(part: string, id: string): Promise<number | undefined> {
    for (const [segment, index] of [...this.#indexes].toReversed())
      for (const offset of index.offsetsOf(part, id)) {
        const position = positionOf(segment, offset);
        const line = await this.#files.readLine(position);
        const isFound = line?.records.some(
          (record) => record.part === part && [...this.#idsOf(part, record.data)].includes(id),
        );
        if (isFound === true) return position;
      }
    return undefined;
  }

  /** The open segment, which has this number, is sealed. */
  seal(segment: number): void {
    const listed: IndexedId[] = [];
    for (const [part, positions] of this.#open)
      for (const [id, position] of positions)
        listed.push({ part, id, offset: position - positionOf(segment, 0) });
    this.#indexes.set(segment, IdIndex.of(listed));
    this.clearOpen();
  }

  /** Keeps the index in a file, so that the next start need not read the segment. */
  async save(segment: number): Promise<void> {
    const index = this.#indexes.get(segment);
    if (index === undefined) return;
    const { directory } = this.#files;
    const file = await PreparedFile.write(this.#disk, directory, this.#files.indexPath(segment), index.bytes);
    await file.place();
  }

  forget(segment: number): void {
    this.#indexes.delete(segment);
  }

  async #read(segment: number): Promise<IdIndex | undefined> {
    const path = this.#files.indexPath(segment);
    try {
      const handle = await openRegular(this.#disk, path);
      if (handle === undefined) return undefined;
      try {
        const { size } = await attempt(path, "stat", handle.stat());
        return IdIndex.decode(await readRange(handle, path, 0, size));
      } finally {
        await closeQuietly(handle);
      }
    } catch (error) {
      if (error instanceof StateFileError) return undefined;
      throw error;
    }
  }

  async #rebuild(segment: number): Promise<IdIndex> {
    const ids: IndexedId[] = [];
    const size = (await this.#files.size(segment)) ?? 0;
    for await (const { start, line } of this.#files.lines(segment, 0, size))
      for (const { part, data } of line?.records ?? [])
        for (const id of this.#idsOf(part, data)) ids.push({ part, id, offset: start });
    const index = IdIndex.of(ids);
    this.#indexes.set(segment, index);
    // It is made again at the next start where it cannot be kept.
    await this.save(segment).catch(() => {});
    return index;
  }

  *#idsOf(part: string, data: unknown): Iterable<string> {
    yield* this.#parts[part]?.idsOf?.(data) ?? [];
  }
}
