/**
 * The journal of a state directory, as its owner writes it: one line for each decision, one sync for all that wait. A
 * segment begins with a snapshot, so that older segments are needed only for what parts still read or find in them.
 */
import type { Clock } from "../../../clock.js";
import { messageOf } from "../../../errors.js";
import { GroupCommit } from "../../../group-commit.js";
import type { Logger } from "../../../logger.js";
import { StateError } from "../../errors.js";
import { attempt, type Disk, unless } from "../disk.js";
import { type JournalLine, LineBuffer } from "./journal-line.js";
import {
  type Decision,
  type FindId,
  type JournalEntry,
  type JournalParts,
  type JournalRecord,
  offsetOf,
  positionOf,
  segmentOf,
} from "./journal-part.js";
import { JournalIds, NamedIds } from "./journal-ids.js";
import { JournalUpkeep } from "./journal-upkeep.js";
import { Replay } from "./replay.js";
import { type ScanOptions, SegmentFiles } from "./segment-files.js";
import { PreparedFile, SEALED_MS, SegmentWriter } from "./segment-writer.js";

export interface JournalOptions {
  /** Made, for its owner only, when the first decision is written. */
  readonly directory: string;
  readonly parts: JournalParts;
  readonly disk: Disk;
  /** Names what is kept of damaged files. */
  readonly clock: Clock;
  readonly logger: Logger;
  /** Rejects when this process no longer owns the directory. */
  readonly checkOwner: () => Promise<void>;
  /** A segment of this size is sealed; one with a large snapshot at four times the snapshot. @default 8_000_000 */
  readonly maxSegmentBytes?: number | undefined;
}

interface Waiting {
  readonly decision: Decision;
  failure: { readonly error: unknown } | undefined;
}

const DEFAULT_SEGMENT_BYTES = 8_000_000;
const SNAPSHOTS_PER_SEGMENT = 4;
/** A batch is written in pieces of this size. */
const WRITE_BYTES = 4_000_000;
/** By part and id. */
type SealedPositions = ReadonlyMap<string, ReadonlyMap<string, number>>;

export class Journal {
  readonly #options: JournalOptions;
  readonly #files: SegmentFiles;
  readonly #ids: JournalIds;
  readonly #upkeep: JournalUpkeep;
  readonly #commit = new GroupCommit<Waiting>((batch) => this.#write(batch));
  readonly #lines = new LineBuffer();
  #writer: SegmentWriter;
  #number = 0;
  /** The open segment is sealed from this length on. */
  #rotateAt = 0;
  /** Why no line may follow in the open segment: there is none, or it is damaged or may have a second writer. */
  #mustRotate = false;
  /** Whether the parts may know of decisions that are not durable. */
  #isAhead = false;
  /** Saves indexes and removes segments, one after the other. */
  #background: Promise<void> = Promise.resolve();
  #isOpen = false;

  constructor(options: JournalOptions) {
    const { disk, directory, logger } = options;
    this.#options = options;
    this.#files = new SegmentFiles(disk, directory, logger);
    this.#ids = new JournalIds(disk, this.#files, options.parts);
    this.#upkeep = new JournalUpkeep(options, this.#files);
    this.#writer = new SegmentWriter(disk, this.#files, 0, 0);
  }

  /**
   * Loads the parts. With `isTakenOver`, the process that owned the directory may wake up and write once more, into a
   * segment that is then sealed.
   */
  async open(isTakenOver = false): Promise<void> {
    await this.#upkeep.sweep();
    await this.#load();
    if (this.#writer.segment > 0) {
      await this.#ids.open(this.#writer.segment);
      if (isTakenOver) this.#mustRotate = true;
      if (!this.#mustRotate) await this.#writer.prepare();
      else await this.#rotate().catch((error: unknown) => this.#warn("Could not renew", error));
    }
    this.#isOpen = true;
  }

  /**
   * Writes one decision as one line; durable when it resolves. When it rejects, the decision was not made, and decisions
   * of the same write were not made either.
   */
  async append(decision: Decision): Promise<void> {
    this.#requireOpen();
    const waiting: Waiting = { decision, failure: undefined };
    await this.#commit.add(waiting);
    if (waiting.failure !== undefined) throw waiting.failure.error;
  }

  /** The position of the last line with this id in the segments that are kept. */
  async findId(part: string, id: string): Promise<number | undefined> {
    return this.#ids.findOpen(part, id) ?? (await this.#ids.findSealed({ part, id }));
  }

  /** The decision whose line begins at this position; `undefined` when it is damaged or gone. */
  async readAt(position: number): Promise<JournalEntry | undefined> {
    if (segmentOf(position) === this.#writer.segment && offsetOf(position) >= this.#writer.length)
      await this.#commit.settled();
    const line = await this.#files.readLine(position);
    return line === undefined ? undefined : { position, records: line.records };
  }

  /** The durable decisions, one after the other. */
  scan(options: ScanOptions = {}): AsyncGenerator<JournalEntry, void> {
    const { segment, length } = this.#writer;
    const before = Math.min(options.before ?? Infinity, positionOf(segment, length));
    return this.#files.scan({ ...options, before });
  }

  /** Removes the segments that no part needs; by itself whenever a segment is sealed. */
  prune(): Promise<void> {
    const pruning = this.#background.then(() => this.#removeOld());
    this.#background = pruning.catch(() => {});
    return pruning;
  }

  async close(): Promise<void> {
    this.#isOpen = false;
    await this.#commit.settled();
    await this.#background;
    await this.#writer.release();
    await this.#files.close();
  }

  async #write(batch: readonly Waiting[]): Promise<void> {
    // Asking the disk and deciding take place at the same time.
    const owned = this.#options.checkOwner();
    owned.catch(() => {});
    if (this.#isAhead || this.#isFull || !this.#writer.isReady) {
      // A process that lost the directory must not touch the files of the next owner.
      await owned;
      if (this.#isAhead) await this.#restore();
      await this.#makeRoom();
    }
    // Nothing is sealed during a write, so that it can be asked before the decisions are made.
    const sealed = await this.#ids.findAll(batch.map(({ decision }) => decision));
    try {
      this.#isAhead = true;
      await this.#writeLines(batch, sealed, owned);
      this.#isAhead = false;
    } catch (error) {
      await this.#writer.release();
      // What callers see meanwhile should be what they were told. It is tried again before the next write.
      await this.#restore().catch(() => {});
      throw error;
    }
  }

  get #isFull(): boolean {
    return this.#mustRotate || this.#writer.length >= this.#rotateAt || this.#ids.isFull;
  }

  /** Opens the place of the next line, in a new segment where one is due. */
  async #makeRoom(): Promise<void> {
    if (this.#mustRotate) await this.#rotate();
    else if (this.#isFull) await this.#tryRotate();
    if ((await this.#writer.prepare()) === "lost") await this.#writeAgain();
    await this.#writer.prepare();
  }

  /** The open segment was deleted or cut: a new one gets what is in memory. */
  async #writeAgain(): Promise<void> {
    const path = this.#files.path(this.#writer.segment);
    this.#options.logger.warn(
      `${path} was deleted or changed while it was in use. The state is written again from memory; decisions in it may not be found.`,
    );
    this.#mustRotate = true;
    await this.#rotate();
  }

  /** Where no new segment can be made, the open one grows, and it is tried again later. */
  async #tryRotate(): Promise<void> {
    try {
      await this.#rotate();
    } catch (error) {
      if (this.#isAhead) throw error;
      this.#rotateAt = this.#writer.length + (this.#options.maxSegmentBytes ?? DEFAULT_SEGMENT_BYTES) / 8;
      this.#warn("Could not begin a new segment of", error);
    }
  }

  /** Takes each decision, in turn, into the parts, and writes its line. */
  async #writeLines(batch: readonly Waiting[], sealed: SealedPositions, owned: Promise<void>): Promise<void> {
    const writer = this.#writer;
    const lines = this.#lines;
    lines.clear();
    let named = new NamedIds([]);
    const find: FindId = (part, id) => {
      named.require(part, id);
      return this.#ids.findOpen(part, id) ?? sealed.get(part)?.get(id);
    };
    for (const waiting of batch) {
      let records: readonly JournalRecord[];
      const position = positionOf(writer.segment, writer.end + lines.size);
      try {
        named = new NamedIds(waiting.decision.ids ?? []);
        records = waiting.decision.decide(find);
        if (records.length === 0) continue;
        for (const { part } of records) this.#partOf(part);
        lines.addDecision(this.#number + 1, records);
      } catch (error) {
        waiting.failure = { error };
        continue;
      }
      this.#number++;
      for (const { part, data } of records) this.#partOf(part).apply(data, position);
      this.#ids.note(records, position);
      if (lines.size < WRITE_BYTES) continue;
      await owned;
      await writer.write(lines.bytes);
      lines.clear();
    }
    await owned;
    if (lines.size > 0) await writer.write(lines.bytes);
    if (writer.end === writer.length) return;
    // The lines can be read by now: a process that becomes the owner later than this check reads them.
    const [state] = await Promise.all([writer.sync(), this.#options.checkOwner()]);
    if (state === "ready") writer.commit();
    else await this.#writeAgain();
  }

  #partOf(name: string): JournalParts[string] {
    const part = this.#options.parts[name];
    if (part === undefined) throw new Error(`The journal has no part named "${name}".`);
    return part;
  }

  /** Makes the parts again from what is durable, after a write that failed. */
  async #restore(): Promise<void> {
    // A process that lost the directory must not cut the file of the next owner.
    await this.#options.checkOwner();
    const before = this.#writer;
    const { segments } = await this.#files.list();
    if (segments.at(-1) === before.segment) await before.prepare();
    await this.#load();
    // A rename that seemed to fail may have worked.
    if (this.#writer.segment !== before.segment) await this.#ids.open(this.#writer.segment);
    this.#isAhead = false;
  }

  async #load(): Promise<void> {
    const { disk, parts, maxSegmentBytes = DEFAULT_SEGMENT_BYTES } = this.#options;
    this.#ids.clearOpen();
    let segment = 0;
    const onDecision = ({ records }: JournalLine, position: number): void => {
      if (segmentOf(position) !== segment) this.#ids.clearOpen();
      segment = segmentOf(position);
      this.#ids.note(records, position);
    };
    const replay = new Replay(this.#files, parts, { isTolerant: false, onDecision });
    await replay.load();
    if (segment !== replay.segment) this.#ids.clearOpen();
    this.#number = replay.number;
    await this.#writer.release();
    this.#writer = new SegmentWriter(disk, this.#files, replay.segment, replay.end);
    this.#rotateAt = Math.max(maxSegmentBytes, SNAPSHOTS_PER_SEGMENT * replay.snapshotEnd);
    this.#upkeep.noteDamages(replay.damages);
    this.#mustRotate = replay.segment === 0 || replay.damages.length > 0;
  }

  /** Begins a segment with a snapshot. Until the rename, nothing has changed. */
  async #rotate(): Promise<void> {
    const { disk, directory, parts, maxSegmentBytes = DEFAULT_SEGMENT_BYTES } = this.#options;
    await this.#upkeep.keepDamaged();
    const sealed = this.#writer;
    const segment = sealed.segment + 1;
    const snapshot = new LineBuffer();
    snapshot.addSnapshot(this.#number, parts);
    const next = await PreparedFile.write(disk, directory, this.#files.path(segment), snapshot.bytes);
    try {
      const path = this.#files.path(sealed.segment);
      const seal = unless(["ENOENT"], disk.utimes(path, SEALED_MS, SEALED_MS));
      if (sealed.segment > 0) await attempt(path, "write", seal);
      // A rename that fails may have worked: the files are asked, before anything is written.
      this.#isAhead = true;
      await next.place();
      this.#isAhead = false;
    } catch (error) {
      await next.discard();
      throw error;
    }
    await sealed.release();
    this.#writer = new SegmentWriter(disk, this.#files, segment, snapshot.size);
    this.#rotateAt = Math.max(maxSegmentBytes, SNAPSHOTS_PER_SEGMENT * snapshot.size);
    this.#mustRotate = false;
    if (sealed.segment === 0) return;
    this.#ids.seal(sealed.segment);
    this.#background = this.#background.then(() => this.#tidyAfter(sealed.segment));
  }

  /** What a new segment leaves to do, beside the decisions that go on. */
  async #tidyAfter(segment: number): Promise<void> {
    try {
      await this.#ids.save(segment);
      await this.#removeOld();
    } catch (error) {
      this.#warn("Could not tidy", error);
    }
  }

  /** The last two segments stay: a damaged snapshot is made again from the segment before it. */
  async #removeOld(): Promise<void> {
    const needed = Object.values(this.#options.parts).map((part) => part.keepFrom?.() ?? Infinity);
    const first = Math.min(...needed.map(segmentOf), this.#writer.segment - 1);
    for (const segment of await this.#upkeep.removeBefore(first)) this.#ids.forget(segment);
  }

  #warn(what: string, error: unknown): void {
    this.#options.logger.warn(`${what} the journal in ${this.#options.directory}: ${messageOf(error)}`);
  }

  #requireOpen(): void {
    if (this.#isOpen) return;
    throw new StateError(`The journal in ${this.#options.directory} is not open.`, { code: "STATE_CLOSED" });
  }
}
