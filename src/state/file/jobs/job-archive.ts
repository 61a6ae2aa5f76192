/**
 * Reads the parts of a job log: records from the newest to the oldest, the jobs with given ids, and the jobs that have
 * not ended. Says once per part that lines of it were skipped. Writing is elsewhere.
 */
import type { Logger } from "../../../logger.js";
import { attempt, closeQuietly } from "../disk.js";
import { dayOf, dayOfJob } from "../../job-log/job-id.js";
import {
  DEFAULT_LIST_LIMIT,
  type EndedJobRecord,
  type JobFilter,
  type JobRecord,
} from "../../job-log/job-log.js";
import { isEnded, isWanted } from "../../job-log/job-record.js";
import { linePieces, piecesBackwards } from "../line-pieces.js";
import { dayOfPart, type JobDirectory, type PartVersion } from "./job-directory.js";
import { recordOf, scanLines } from "./job-line.js";
import { type DayJob, jobsOfPiece, type LaterEnds, OpenJobs } from "./job-scan.js";

export interface FoundJob {
  readonly part: string;
  readonly job: DayJob;
}

/** The jobs of a part that have not ended, and the version of the part that was read. */
export interface OpenPart extends PartVersion {
  readonly jobs: readonly DayJob[];
}

interface Listed {
  readonly record: JobRecord;
  readonly startedAt: string;
  /** Of two jobs that started at the same time, the later line has the larger one. */
  readonly order: number;
}

/** So many ids are searched for as text before lines are looked at. */
const FEW_IDS = 8;
const MOST_LINES_IN_PIECE = 1e6;

export class JobArchive {
  readonly #directory: JobDirectory;
  readonly #logger: Logger;
  /** The versions of parts without an open job. */
  readonly #closed = new Map<string, PartVersion>();
  readonly #reported = new Set<string>();

  constructor(directory: JobDirectory, logger: Logger) {
    this.#directory = directory;
    this.#logger = logger;
  }

  /** Newest first. Reads files from their ends, and no more of them than is needed. */
  async list(filter: JobFilter): Promise<readonly JobRecord[]> {
    const { limit = DEFAULT_LIST_LIMIT, since } = filter;
    const records: JobRecord[] = [];
    const { parts } = await this.#directory.list();
    for (const day of new Set(parts.map(dayOfPart))) {
      const room = limit - records.length;
      if (!(room > 0) || (since !== undefined && day < dayOf(since))) break;
      const ofDay = parts.filter((part) => dayOfPart(part) === day);
      for (const { record } of await this.#newestOf(ofDay, room, filter)) records.push(record);
    }
    return records;
  }

  /** The jobs that the log has, by id. */
  async find(ids: readonly string[]): Promise<ReadonlyMap<string, FoundJob>> {
    const found = new Map<string, FoundJob>();
    if (ids.length === 0) return found;
    const missing = new Set(ids);
    const parts = await this.#directory.partsOf(new Set(Array.from(missing, dayOfJob)));
    const isMissing = (id: string): boolean => missing.has(id);
    for (const part of parts) {
      if (missing.size === 0) break;
      const ends: LaterEnds = new Map();
      await this.#backwards(part, (piece) => {
        if (missing.size <= FEW_IDS && ![...missing].some((id) => piece.includes(id))) return false;
        for (const job of jobsOfPiece(piece, ends, isMissing)) {
          if (!missing.delete(job.id)) continue;
          const start = Buffer.from(job.start);
          const end = job.end === undefined ? undefined : Buffer.from(job.end);
          found.set(job.id, { part, job: { ...job, start, end } });
        }
        return missing.size === 0;
      });
    }
    return found;
  }

  /** `undefined` where the job's line turns out to be damaged. */
  async record({ part, job }: FoundJob): Promise<JobRecord | undefined> {
    const record = recordOf(job.start, job.end);
    if (record === undefined) await this.#report(part);
    return record;
  }

  /** The records that are closed, among jobs that were found. */
  async closedRecords(found: Iterable<FoundJob>): Promise<ReadonlyMap<string, EndedJobRecord>> {
    const closed = new Map<string, EndedJobRecord>();
    for (const one of found) {
      const record = one.job.end === undefined ? undefined : await this.record(one);
      if (record !== undefined && isEnded(record)) closed.set(record.id, record);
    }
    return closed;
  }

  async openJobs(part: string): Promise<OpenPart> {
    const version = await this.#directory.versionOf(part);
    const nothing = { jobs: [], size: version?.size ?? 0, ino: version?.ino ?? 0 };
    const known = this.#closed.get(part);
    if (version === undefined || (known?.size === version.size && known.ino === version.ino)) return nothing;
    const candidates = new OpenJobs();
    const read = await this.#forwards(part, (piece) => candidates.add(piece));
    const jobs = new Map<string, DayJob>();
    if (!candidates.isEmpty)
      await this.#forwards(part, (piece) =>
        scanLines(
          piece,
          ({ id, startedAt, process }, line) => {
            const job = jobs.get(id);
            if (startedAt !== undefined && job === undefined)
              jobs.set(id, { id, startedAt, process, start: Buffer.from(line), end: undefined });
            else if (startedAt === undefined && job !== undefined && job.end === undefined)
              jobs.set(id, { ...job, end: Buffer.from(line) });
          },
          () => {},
          (id) => candidates.has(id),
        ),
      );
    const open = [...jobs.values()].filter(({ end }) => end === undefined);
    if (open.length === 0 && read !== undefined) this.#closed.set(part, read);
    return { jobs: open, ...(read ?? nothing) };
  }

  /** The newest wanted jobs of a day, whose parts are given newest first. */
  async #newestOf(parts: readonly string[], room: number, filter: JobFilter): Promise<readonly Listed[]> {
    const since = filter.since?.toISOString() ?? "";
    const listed = new Map<string, Listed>();
    /** Of the last job that there is room for. */
    let cut = "";
    let pieces = 0;
    for (const part of parts) {
      const ends: LaterEnds = new Map();
      let isDamaged = false;
      const isEnough = await this.#backwards(part, (piece) => {
        let newest = "";
        const firstOrder = -++pieces * MOST_LINES_IN_PIECE;
        for (const [index, job] of jobsOfPiece(piece, ends, undefined, () => (isDamaged = true)).entries()) {
          const { id, startedAt } = job;
          if (startedAt > newest) newest = startedAt;
          if (startedAt < since || startedAt < cut) continue;
          const record = recordOf(job.start, job.end);
          if (record === undefined) isDamaged = true;
          // The first start of a job counts, which is read last.
          else if (isWanted(record, filter)) listed.set(id, { record, startedAt, order: firstOrder + index });
        }
        if (listed.size < room) return false;
        cut = trim(listed, room);
        // One piece more than is needed: what is older in the file may have started later.
        return cut >= newest;
      });
      if (isDamaged) await this.#report(part);
      if (isEnough) break;
    }
    return [...listed.values()].toSorted(laterFirst);
  }

  /** Visits the pieces of a part from its end, until `visit` returns `true`; returns whether it did. */
  async #backwards(part: string, visit: (piece: Buffer) => boolean): Promise<boolean> {
    const path = this.#directory.partPath(part);
    const handle = await this.#directory.open(path, "read");
    if (handle === undefined) return false;
    try {
      const { size } = await attempt(path, "stat", handle.stat());
      for await (const piece of piecesBackwards(handle, path, size)) if (visit(piece)) return true;
      return false;
    } finally {
      await closeQuietly(handle);
    }
  }

  /** Visits the pieces of a part from its beginning. */
  async #forwards(part: string, visit: (piece: Buffer) => unknown): Promise<PartVersion | undefined> {
    const path = this.#directory.partPath(part);
    const handle = await this.#directory.open(path, "read");
    if (handle === undefined) return undefined;
    try {
      const { size, ino } = await attempt(path, "stat", handle.stat());
      for await (const piece of linePieces(handle, path, 0, size)) visit(piece);
      return { size, ino };
    } finally {
      await closeQuietly(handle);
    }
  }

  /** Says where the damaged lines of a part are; a part is read once more for that, and once only. */
  async #report(part: string): Promise<void> {
    if (this.#reported.has(part)) return;
    this.#reported.add(part);
    const damaged: number[] = [];
    let before = 0;
    await this.#forwards(part, (piece) => {
      before += scanLines(
        piece,
        ({ startedAt }, line, lineNumber) => {
          if (startedAt !== undefined && recordOf(line, undefined) === undefined)
            damaged.push(before + lineNumber);
        },
        (lineNumber) => damaged.push(before + lineNumber),
      ).lines;
    });
    const [first] = damaged.toSorted((a, b) => a - b);
    if (first === undefined) return;
    const more = damaged.length > 1 ? ` and ${damaged.length - 1} more` : "";
    this.#logger.warn(
      `Skipped line ${first}${more} of ${this.#directory.partPath(part)}: expected the record of a job.`,
    );
  }
}

function laterFirst(a: Listed, b: Listed): number {
  if (a.startedAt !== b.startedAt) return a.startedAt < b.startedAt ? 1 : -1;
  return b.order - a.order;
}

/** Keeps the newest, and returns when the last of them started. */
function trim(listed: Map<string, Listed>, room: number): string {
  const kept = [...listed.values()].toSorted(laterFirst).slice(0, room);
  listed.clear();
  for (const one of kept) listed.set(one.record.id, one);
  return kept.at(-1)?.startedAt ?? "";
}
