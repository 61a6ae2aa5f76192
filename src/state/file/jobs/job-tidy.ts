/**
 * Keeps a job log within its limits: counts the jobs of each schedule in each part, and removes parts or writes them anew
 * without the jobs that have to go. What has to go is decided in job-retention.ts.
 */
import type { FileHandle } from "node:fs/promises";
import { attempt, closeQuietly } from "../disk.js";
import { dayOf } from "../../job-log/job-id.js";
import {
  type Excess,
  excessOf,
  type PartTally,
  type RetentionLimits,
  type ScheduleTally,
} from "../../job-log/job-retention.js";
import { linePieces, readRange } from "../line-pieces.js";
import { dayOfPart, type JobDirectory, type PartVersion } from "./job-directory.js";
import { scanLines, subjectOf } from "./job-line.js";
import { dayOfJob } from "../../job-log/job-id.js";

/** What a log is writing to at this moment, and so must stay. */
export interface FilesInUse {
  isPartInUse(part: string): boolean;
  isOutputInUse(id: string): boolean;
  /** Begins the next part of a day, so that this one gets no new jobs. */
  endPart(part: string): Promise<void>;
}

interface CountedPart extends PartVersion {
  readonly tally: Omit<PartTally, "isCurrent">;
}

export class JobTidy {
  readonly #directory: JobDirectory;
  readonly #counted = new Map<string, CountedPart>();

  constructor(directory: JobDirectory) {
    this.#directory = directory;
  }

  /** Removes what is past the limits, with the outputs, and returns the parts that are gone. */
  async tidy(now: Date, limits: RetentionLimits, inUse: FilesInUse): Promise<readonly string[]> {
    await this.#directory.removeDrafts();
    const { parts, outputs } = await this.#directory.list();
    const today = dayOf(now);
    const withOutput = new Set(outputs);
    const tallies: PartTally[] = [];
    const days = new Set<string>();
    for (const part of parts) {
      const day = dayOfPart(part);
      tallies.push({ ...(await this.#count(part, withOutput)), isCurrent: !days.has(day) && day >= today });
      days.add(day);
    }
    const current = new Set(tallies.flatMap(({ part, isCurrent }) => (isCurrent ? part : [])));
    const removed: string[] = [];
    for (const [part, excess] of excessOf(tallies, now, limits)) {
      if (inUse.isPartInUse(part)) continue;
      if (current.has(part)) await inUse.endPart(part);
      else if (await this.#shrink(part, excess, withOutput)) removed.push(part);
    }
    const kept = new Set(parts.filter((part) => !removed.includes(part)).map(dayOfPart));
    for (const id of outputs) {
      const day = dayOfJob(id);
      // Also what an earlier removal left behind. Today's first job may not have its line yet.
      if (!kept.has(day) && day < today && !inUse.isOutputInUse(id)) await this.#removeOutput(id);
    }
    return removed;
  }

  async #count(part: string, outputs: ReadonlySet<string>): Promise<Omit<PartTally, "isCurrent">> {
    const version = await this.#directory.versionOf(part);
    const known = this.#counted.get(part);
    if (version !== undefined && known?.size === version.size && known.ino === version.ino)
      return known.tally;
    const count = new PartCount(part);
    const read = await this.#read(part, async (handle, size) => {
      for await (const piece of linePieces(handle, this.#directory.partPath(part), 0, size)) {
        count.add(piece);
        for (const id of count.takeIds())
          if (outputs.has(id)) count.addOutput(id, await this.#directory.sizeOfOutput(id));
      }
    });
    const tally = count.tally();
    if (read !== undefined) this.#counted.set(part, { ...read, tally });
    return tally;
  }

  /** Writes a part without the jobs that go; returns whether nothing is left of it. */
  async #shrink(part: string, excess: Excess, outputs: ReadonlySet<string>): Promise<boolean> {
    const path = this.#directory.partPath(part);
    let isEmpty = true;
    await this.#read(part, async (handle, size, { ino }) => {
      const draft = await this.#directory.createDraft(part);
      try {
        const dropping = new DroppedJobs(excess);
        for await (const piece of linePieces(handle, path, 0, size)) {
          const kept = dropping.keptOf(piece);
          if (kept.length > 0) await attempt(path, "write", draft.appendFile(kept));
          for (const id of dropping.takeIds()) if (outputs.has(id)) await this.#removeOutput(id);
        }
        await attempt(path, "sync", draft.sync());
        if ((await this.#directory.versionOf(part))?.ino !== ino) return;
        await this.#directory.replacePart(part);
        // What a different process has appended meanwhile.
        const { size: sizeNow } = await attempt(path, "stat", handle.stat());
        const added = await readRange(handle, path, size, sizeNow);
        if (added.length > 0) {
          await attempt(path, "write", draft.appendFile(added));
          await attempt(path, "sync", draft.sync());
        }
        isEmpty = (await attempt(path, "stat", draft.stat())).size === 0;
        if (isEmpty) await this.#directory.remove(path);
        await this.#directory.sync();
      } finally {
        await closeQuietly(draft);
      }
    });
    this.#counted.delete(part);
    return isEmpty;
  }

  #removeOutput(id: string): Promise<void> {
    return this.#directory.remove(this.#directory.outputPath(id));
  }

  async #read(
    part: string,
    use: (handle: FileHandle, size: number, version: PartVersion) => Promise<void>,
  ): Promise<PartVersion | undefined> {
    const path = this.#directory.partPath(part);
    const handle = await this.#directory.open(path, "read");
    if (handle === undefined) return undefined;
    try {
      const { size, ino } = await attempt(path, "stat", handle.stat());
      await use(handle, size, { size, ino });
      return { size, ino };
    } finally {
      await closeQuietly(handle);
    }
  }
}

/** Counts the jobs of a part, piece by piece. */
class PartCount {
  readonly #part: string;
  readonly #schedules = new Map<string, { jobs: number; bytes: number }>();
  /** The schedule of each job that has not ended. */
  readonly #open = new Map<string, { jobs: number; bytes: number }>();
  /** The jobs that ended in the last pieces, with their schedules. */
  readonly #ended = new Map<string, { jobs: number; bytes: number }>();
  #jobs = 0;
  #newestAt = "";

  constructor(part: string) {
    this.#part = part;
  }

  add(piece: Buffer): void {
    this.#ended.clear();
    scanLines(piece, ({ id, startedAt }, line) => {
      if (startedAt === undefined) {
        const schedule = this.#open.get(id);
        if (schedule === undefined) return;
        this.#open.delete(id);
        this.#ended.set(id, schedule);
        schedule.jobs++;
        schedule.bytes += line.length;
      } else if (!this.#open.has(id) && !this.#ended.has(id)) {
        const subject = subjectOf(line);
        const schedule = this.#schedules.get(subject) ?? { jobs: 0, bytes: 0 };
        this.#schedules.set(subject, schedule);
        // A copy of the id: as a part of its line it would keep the line in memory.
        this.#open.set(Buffer.from(id, "latin1").toString("latin1"), schedule);
        schedule.bytes += line.length;
        this.#jobs++;
        if (startedAt > this.#newestAt) this.#newestAt = startedAt;
      }
    });
  }

  /** The jobs that ended in the last piece. */
  takeIds(): readonly string[] {
    return [...this.#ended.keys()];
  }

  addOutput(id: string, bytes: number): void {
    const schedule = this.#ended.get(id);
    if (schedule !== undefined) schedule.bytes += bytes;
  }

  tally(): Omit<PartTally, "isCurrent"> {
    const schedules = new Map<string, ScheduleTally>();
    for (const [subject, { jobs, bytes }] of this.#schedules)
      if (jobs > 0) schedules.set(subject, { jobs, bytes });
    const day = dayOfPart(this.#part);
    const newestAt = this.#newestAt === "" ? `${day}T00:00:00.000Z` : this.#newestAt;
    return { part: this.#part, day, open: this.#open.size, jobs: this.#jobs, newestAt, schedules };
  }
}

/** Leaves the oldest jobs of each schedule out of a part, piece by piece. */
class DroppedJobs {
  readonly #left: Map<string, number> | "all";
  /** The jobs whose starts were left out, and whose ends are still to come. */
  readonly #dropped = new Set<string>();
  #ids: string[] = [];

  constructor(excess: Excess) {
    this.#left = excess === "all" ? "all" : new Map(excess);
  }

  /** The bytes of the piece that stay. */
  keptOf(piece: Buffer): Buffer {
    const kept: Buffer[] = [];
    scanLines(piece, ({ id, startedAt }, line) => {
      const isDropped = startedAt === undefined ? this.#dropped.delete(id) : this.#isDropped(line);
      if (!isDropped) kept.push(line, LINE_END);
      else if (startedAt !== undefined) {
        const copy = Buffer.from(id, "latin1").toString("latin1");
        this.#dropped.add(copy);
        this.#ids.push(copy);
      }
    });
    return Buffer.concat(kept);
  }

  /** The jobs that were left out since the last call. */
  takeIds(): readonly string[] {
    const ids = this.#ids;
    this.#ids = [];
    return ids;
  }

  #isDropped(line: Buffer): boolean {
    if (this.#left === "all") return true;
    const subject = subjectOf(line);
    const left = this.#left.get(subject) ?? 0;
    if (left === 0) return false;
    this.#left.set(subject, left - 1);
    return true;
  }
}

const LINE_END = Buffer.from("\n");
