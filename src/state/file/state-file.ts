/**
 * The state file between processes: what it said when last read, and how to change it so that no change is lost. A
 * change is read-merge-write under a lock; looking is one `stat` while the file stays the same.
 */
import type { BigIntStats } from "node:fs";
import { dirname } from "node:path";
import type { Clock } from "../../clock.js";
import type { Logger } from "../../logger.js";
import {
  attempt,
  closeQuietly,
  type Disk,
  type FileVersion,
  isVersion,
  makePrivateDirectory,
  openRegular,
  replaceFile,
  unless,
} from "./disk.js";
import { StateFileError } from "../errors.js";
import { keepDamaged } from "./keep-damaged.js";
import { isLocal } from "./local-disk.js";
import { mendCut } from "./mend-cut.js";
import { type LockOptions, releaseLock, SignOfLife, sweepPrepared, takeLock } from "./lock/lock-directory.js";
import { processSignature } from "./lock/process-identity.js";
import { type AgentEntry, emptyDocument, type StateDocument } from "./yaml/state-document.js";
import { readDocument } from "./yaml/read-document.js";
import { AsyncLock } from "../../async-lock.js";

export interface StateFileOptions {
  readonly path: string;
  readonly disk: Disk;
  /** Times of damaged files. */
  readonly clock: Clock;
  /** Time as other processes know it. */
  readonly realClock: Clock;
  readonly logger: Logger;
  /** A larger file is not read. */
  readonly maxBytes: number;
  /** Called when the file is not the version that this process wrote or read last. */
  onOutsideChange(before: StateDocument, after: StateDocument): void;
  /** Called by the owner when the file was deleted or cut short, and what it said has to be written again. */
  onLoss(): void;
  /** Rejects when this process no longer owns the directory. */
  checkOwner(): Promise<void>;
}

/** A change that has been decided and not yet made. */
export interface NewDocument {
  readonly bytes: Buffer;
  /** What the bytes say, once `changed` is in it. */
  readonly document: StateDocument;
  /** The agents that are put into the document when the bytes are durable. */
  readonly changed: ReadonlyMap<string, AgentEntry>;
}

/** Decides, under the lock, what the document becomes; `undefined` when it stays as it is, which damage forbids. */
export type DocumentChange = (
  document: StateDocument,
  isDamaged: boolean,
) => Promise<NewDocument | undefined>;

/** File systems count time in steps of up to two seconds. */
const COARSEST_FILE_TIME_MS = 2_000;
const DAMAGES_SHOWN = 10;
const LOST_LOCKS = 5;
/** A program that edits the file in a loop must not hold a change up for ever. */
const MOST_EDITS = 100;
/**
 * A file without its end that was changed less than this long ago is still being written. The owner knows what is missing
 * in the file; all other processes wait until the owner has written it.
 */
const UNFINISHED_MS = { owner: 1_000, guest: 3_000 };
const UNFINISHED_LOOK_MS = 20;
const NOTHING_TO_DO: Promise<void> = Promise.resolve();

export class StateFile {
  readonly #options: StateFileOptions;
  readonly #lock: LockOptions;
  #document: StateDocument = emptyDocument();
  #version: FileVersion | undefined;
  /** Whether the file on disk has damage that the next write would erase. */
  #isDamaged = false;
  /** Whether that file has been kept already, by a write that failed afterwards. */
  #isKept = false;
  /** What was last said of the file's damage. */
  #warnedOf = "";
  #isSwept = false;
  #hasLooked = false;
  /** Looking and changing never overlap. */
  readonly #turns = new AsyncLock();
  #looking: Promise<void> | undefined;
  #canGlance = false;
  /** Whether this process owns the directory. */
  #isOwned = false;

  constructor(options: StateFileOptions) {
    const { disk, realClock: clock, path } = options;
    this.#options = options;
    this.#lock = { disk, clock, path: `${path}.lock`, signature: processSignature() };
  }

  /** What the file said when last looked at. */
  get document(): StateDocument {
    return this.#document;
  }

  /**
   * To be called by the owner. From now on, a look costs no waiting while the file stays the same, if its disk is one of
   * this machine.
   */
  async own(): Promise<void> {
    const { disk, path } = this.#options;
    this.#isOwned = true;
    this.#canGlance = await isLocal(disk, dirname(path));
  }

  /** Looks at the file, and reads it again if it has changed. A call while a look waits its turn shares that look. */
  refresh(): Promise<void> {
    if (this.#canGlance && this.#glance()) return NOTHING_TO_DO;
    this.#looking ??= this.#turns.take(() => {
      this.#looking = undefined;
      return this.#look();
    });
    return this.#looking;
  }

  /**
   * Changes the document under the lock; durable when it resolves. `decide` is asked again when the lock was lost, and when
   * the file was edited before it could be replaced.
   */
  change(decide: DocumentChange): Promise<void> {
    return this.#turns.take(async () => {
      const failed = { edited: 0, lost: 0 };
      while (failed.lost < LOST_LOCKS && failed.edited < MOST_EDITS) {
        const outcome = await this.#tryChange(decide);
        if (outcome === "done") return;
        failed[outcome]++;
      }
      const { path } = this.#options;
      if (failed.edited < MOST_EDITS)
        throw new StateFileError(path, "lock", new Error(`the lock was lost ${LOST_LOCKS} times in a row`));
      throw new StateFileError(path, "write", new Error(`it was edited ${MOST_EDITS} times meanwhile`));
    });
  }

  /** Lets go of the file. What it said stays known, for calls that are about to answer. */
  close(): Promise<void> {
    return this.#turns.take(() => {
      this.#isOwned = false;
      return this.#set(this.#document, undefined);
    });
  }

  /**
   * Lets go of the file, for a while or for good. Whether it has changed can still be told afterwards if its last
   * change is well past: a later change then has a different time, even in a file that was given the same inode.
   */
  rest(): Promise<void> {
    return this.#turns.take(async () => {
      const version = this.#version;
      if (version?.handle === undefined) return;
      const ageMs = this.#options.realClock.now().getTime() - Number(version.stats.mtimeNs / 1_000_000n);
      const isPast = ageMs > COARSEST_FILE_TIME_MS;
      this.#version = isPast ? { ...version, handle: undefined } : undefined;
      await closeQuietly(version.handle);
    });
  }

  /** Whether the file is surely as it was when last looked at. Keeps the whole process waiting. */
  #glance(): boolean {
    const { disk, path } = this.#options;
    try {
      const stats = disk.lstatSync(path, { bigint: true, throwIfNoEntry: false });
      return stats !== undefined && isVersion(stats, this.#version);
    } catch {
      // The full look reports what is wrong.
      return false;
    }
  }

  async #look(): Promise<void> {
    const { disk, path } = this.#options;
    const stats = await attempt(path, "stat", unless(["ENOENT"], disk.lstat(path, { bigint: true })));
    const before = this.#document;
    if (stats === undefined) {
      this.#hasLooked = true;
      if (this.#version === undefined) return;
      if (this.#isOwned) return this.#missing();
      await this.#set(emptyDocument(), undefined);
    } else {
      if (isVersion(stats, this.#version)) return;
      requireFile(path, stats);
      await this.#read();
    }
    // The first look finds what was there before: not a change.
    if (this.#hasLooked) this.#options.onOutsideChange(before, this.#document);
    this.#hasLooked = true;
  }

  /** The owner's file was deleted while it ran. What is disabled must stay so: the file is written again. */
  async #missing(): Promise<void> {
    const { logger, path } = this.#options;
    // Deleted with its directory, it must not be made again.
    await this.#options.checkOwner();
    await this.#set(this.#document, undefined, true);
    logger.warn(
      `${path} was deleted while the scheduler runs. It is written again from memory; to start anew, stop the scheduler first.`,
    );
    this.#options.onLoss();
  }

  /** When the lock was lost on the way, or the file was edited, nothing has changed. */
  async #tryChange(decide: DocumentChange): Promise<"done" | "edited" | "lost"> {
    const { disk, path, realClock } = this.#options;
    // A slow read happens before the lock is taken, so that other processes do not wait for it.
    await this.#look();
    // Where the file is, its directory is.
    if (this.#version === undefined) await makePrivateDirectory(disk, dirname(path));
    if (!this.#isSwept) await this.#sweep();
    const lock = await takeLock(this.#lock);
    const alive = new SignOfLife(lock, this.#lock);
    let isKept = false;
    try {
      await this.#look();
      const next = await decide(this.#document, this.#isDamaged);
      if (next === undefined) return "done";
      if (this.#isDamaged) await this.#keepDamaged();
      const { bytes } = next;
      const [from, now, isDiskLocal] = [this.#version, realClock.now(), this.#canGlance];
      const version = await replaceFile(disk, path, { bytes, from, now, isLocal: isDiskLocal }, lock);
      if (typeof version === "string") return version;
      isKept = true;
      for (const [name, entry] of next.changed) next.document.agents.set(name, entry);
      await this.#set(next.document, version);
      return "done";
    } finally {
      alive.end();
      if (!isKept) await releaseLock(disk, lock);
    }
  }

  /** Once for each damaged version, or the copies of repeated failing writes would push out older copies. */
  async #keepDamaged(): Promise<void> {
    // A file that was deleted has left nothing to keep.
    if (this.#isKept || this.#version === undefined) return;
    await keepDamaged(this.#options.disk, this.#options.path, this.#options.clock.now());
    this.#isKept = true;
  }

  async #read(): Promise<void> {
    const { disk, path, logger, maxBytes, realClock } = this.#options;
    const handle = await openRegular(disk, path);
    // Deleted between two looks: the next look finds it missing.
    if (handle === undefined) return this.#isOwned ? undefined : this.#set(emptyDocument(), undefined);
    try {
      const stats = await attempt(path, "stat", handle.stat({ bigint: true }));
      requireFile(path, stats);
      const bytes = stats.size > maxBytes ? undefined : await attempt(path, "read", handle.readFile());
      const { document, damages, isCut } =
        bytes === undefined
          ? {
              document: emptyDocument(),
              damages: [`it has ${stats.size} bytes, more than the ${maxBytes} allowed`],
              isCut: false,
            }
          : await readDocument(bytes, this.#document);
      if (isCut && this.#isUnfinished(stats)) {
        await closeQuietly(handle);
        await realClock.sleep(UNFINISHED_LOOK_MS);
        return await this.#read();
      }
      const isMended = isCut && this.#document.agents.size > 0;
      if (!isMended) this.#warn(damages);
      else
        logger.warn(
          `${path} was cut short. What is missing is restored, and the cut file is kept beside it.`,
        );
      const whole = isMended ? mendCut(document, this.#document) : document;
      await this.#set(whole, { stats, handle }, isCut || damages.length > 0);
      if (isMended && this.#isOwned) this.#options.onLoss();
    } catch (error) {
      await closeQuietly(handle);
      throw error;
    }
  }

  /** Whether a file without its end was written to just now, so that its end may still come. */
  #isUnfinished({ mtimeNs }: BigIntStats): boolean {
    const ageMs = this.#options.realClock.now().getTime() - Number(mtimeNs / 1_000_000n);
    return Math.abs(ageMs) < (this.#isOwned ? UNFINISHED_MS.owner : UNFINISHED_MS.guest);
  }

  async #set(document: StateDocument, version: FileVersion | undefined, isDamaged = false): Promise<void> {
    const previous = this.#version;
    this.#document = document;
    this.#version = version;
    this.#isDamaged = isDamaged;
    this.#isKept = false;
    if (previous?.handle !== undefined) await closeQuietly(previous.handle);
  }

  /** Says what is damaged, and says it once, however often the file has to be read. */
  #warn(damages: readonly string[]): void {
    const { logger, path } = this.#options;
    const shown = damages.slice(0, DAMAGES_SHOWN);
    const report = [...shown, damages.length].join("\n");
    if (report === this.#warnedOf) return;
    this.#warnedOf = report;
    for (const damage of shown)
      logger.warn(
        `Damage in ${path}: ${damage}. The entry was reset; the file is kept beside it when it is next written.`,
      );
    if (damages.length > shown.length)
      logger.warn(`Damage in ${path}: ${damages.length - shown.length} more entries were reset.`);
  }

  /** Removes what processes that died left in the directory. */
  async #sweep(): Promise<void> {
    const { disk, path } = this.#options;
    const directory = dirname(path);
    await attempt(directory, "list", sweepPrepared(disk, directory, this.#lock.path));
    this.#isSwept = true;
  }
}

/** A directory, a pipe or a link is not a state file, and reading it could reach elsewhere or never end. */
function requireFile(path: string, stats: BigIntStats): void {
  if (stats.isFile()) return;
  throw new StateFileError(path, "read", new Error("it is not a regular file"), "Move it away.");
}
