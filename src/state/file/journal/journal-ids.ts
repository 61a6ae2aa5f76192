/**
 * Finds lines by the ids in them: the open segment's are in memory, the sealed segments have an index each. An index that
 * is missing or damaged is made again from its segment.
 */
import { StateFileError } from "../../errors.js";
import { attempt, closeQuietly, type Disk, openRegular } from "../disk.js";
import { readRange } from "../line-pieces.js";
import { hashOf, type IndexedId, IdIndex, MOST_IDS } from "./id-index.js";
import {
  type Decision,
  type DecisionId,
  type JournalParts,
  type JournalRecord,
  offsetOf,
  positionOf,
  segmentOf,
} from "./journal-part.js";
import type { SegmentFiles } from "./segment-files.js";
import { PreparedFile } from "./segment-writer.js";

const NONE: readonly number[] = [];

export class JournalIds {
  readonly #disk: Disk;
  readonly #files: SegmentFiles;
  readonly #parts: JournalParts;
  /** Of the sealed segments, the oldest first. */
  #indexes = new Map<number, IdIndex>();
  #openSegment = 0;
  /** Offsets in the open segment, by part and id: small numbers, which take no memory of their own. */
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
    const sealed = segments.filter((number) => number < openSegment);
    const reading = sealed.map(async (segment) => this.#indexes.get(segment) ?? (await this.#read(segment)));
    const read = await Promise.all(reading);
    const indexes = new Map<number, IdIndex>();
    for (const [at, segment] of sealed.entries())
      indexes.set(segment, read[at] ?? (await this.#rebuild(segment)));
    this.#indexes = indexes;
  }

  /** Whether the open segment should be sealed. */
  get isFull(): boolean {
    return this.#openCount >= MOST_IDS / 2;
  }

  /** Takes in a line of the open segment. */
  note(records: readonly JournalRecord[], position: number): void {
    this.#openSegment = segmentOf(position);
    const offset = offsetOf(position);
    for (const { part, data } of records) {
      const found = this.#parts[part]?.idsOf?.(data);
      if (found === undefined) continue;
      const ids = this.#open.get(part) ?? new Map<string, number>();
      this.#open.set(part, ids);
      for (const id of found) {
        this.#openCount++;
        ids.set(id, offset);
      }
    }
  }

  /** Forgets the ids of the open segment. */
  clearOpen(): void {
    this.#open = new Map();
    this.#openCount = 0;
  }

  /** The position of the last line in the open segment that has the id. */
  findOpen(part: string, id: string): number | undefined {
    const offset = this.#open.get(part)?.get(id);
    return offset === undefined ? undefined : positionOf(this.#openSegment, offset);
  }

  /** The position of the last line in the sealed segments that has the id. */
  async findSealed({ part, id }: DecisionId): Promise<number | undefined> {
    for (const position of this.#candidates(part, id)) {
      const line = await this.#files.readLine(position);
      for (const record of line?.records ?? [])
        if (record.part === part && this.#idsOf(record).includes(id)) return position;
    }
    return undefined;
  }

  /** The positions in the sealed segments of the ids that decisions name. New ids, as most are, cost no read. */
  async findAll(decisions: Iterable<Decision>): Promise<ReadonlyMap<string, ReadonlyMap<string, number>>> {
    const positions = new Map<string, Map<string, number>>();
    if (this.#indexes.size === 0) return positions;
    const known: DecisionId[] = [];
    for (const { ids = [] } of decisions)
      for (const key of ids) if (this.#candidates(key.part, key.id).length > 0) known.push(key);
    const finding = known.map(async (key) => {
      const position = await this.findSealed(key);
      if (position === undefined) return;
      const ofPart = positions.get(key.part) ?? new Map<string, number>();
      positions.set(key.part, ofPart);
      ofPart.set(key.id, position);
    });
    await Promise.all(finding);
    return positions;
  }

  /** The open segment, which has this number, is sealed. */
  seal(segment: number): void {
    let count = 0;
    for (const offsets of this.#open.values()) count += offsets.size;
    this.#indexes.set(segment, IdIndex.of(this.#openIds(), count));
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
    for await (const lines of this.#files.lines(segment, 0, size))
      for (const { start, line } of lines)
        for (const record of line?.records ?? [])
          for (const id of this.#idsOf(record)) ids.push({ part: record.part, id, offset: start });
    const index = IdIndex.of(ids, ids.length);
    this.#indexes.set(segment, index);
    // It is made again at the next start where it cannot be kept.
    await this.save(segment).catch(() => {});
    return index;
  }

  *#openIds(): Generator<IndexedId, void> {
    for (const [part, offsets] of this.#open) for (const [id, offset] of offsets) yield { part, id, offset };
  }

  /** Where lines of sealed segments begin that may have the id, the last one first. */
  #candidates(part: string, id: string): readonly number[] {
    const hash = hashOf(part, id);
    let positions: number[] | undefined;
    for (const [segment, index] of this.#indexes)
      for (const offset of index.offsetsOf(hash)) (positions ??= []).push(positionOf(segment, offset));
    return positions?.toSorted((a, b) => b - a) ?? NONE;
  }

  #idsOf({ part, data }: JournalRecord): string[] {
    return [...(this.#parts[part]?.idsOf?.(data) ?? [])];
  }
}

/** Looking through so many is faster than making a set. */
const FEW_IDS = 8;

/** The ids that a decision names: no other was looked for in the sealed segments. */
export class NamedIds {
  readonly #ids: readonly DecisionId[];
  #set: Set<string> | undefined;

  constructor(ids: readonly DecisionId[]) {
    this.#ids = ids;
  }

  require(part: string, id: string): void {
    if (!this.#has(part, id)) throw new Error(`The decision did not name the id "${id}".`);
  }

  #has(part: string, id: string): boolean {
    if (this.#ids.length > FEW_IDS) {
      this.#set ??= new Set(this.#ids.map((key) => `${key.part}\0${key.id}`));
      return this.#set.has(`${part}\0${id}`);
    }
    for (const key of this.#ids) if (key.id === id && key.part === part) return true;
    return false;
  }
}
