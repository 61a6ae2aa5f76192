/**
 * Which part of its day a job is in, or gets into: new jobs go to the newest part, and a job that has not ended stays where
 * it started.
 */
import type { KnownPart } from "./day-file.js";
import type { FoundJob, JobArchive } from "./job-archive.js";
import { dayOfPart, type JobDirectory, nextPart } from "./job-directory.js";
import type { DayJob } from "./job-scan.js";

export interface JobPlacesOptions {
  readonly directory: JobDirectory;
  readonly archive: JobArchive;
  /** When a part is so large, the next one begins. */
  readonly partBytes: number;
  /** Called with what is known of a part that gets no new jobs, so that it need not be read again to end a few of its jobs. */
  readonly onOlderPart: (part: string, known: KnownPart) => void;
}

export class JobPlaces {
  readonly #options: JobPlacesOptions;
  /** The part of each day that gets its new jobs; `findNewest` is to be called for a day that is missing. */
  readonly newest: Map<string, string> = new Map();
  /** The parts of jobs that have not ended, if that is not the newest part of their day. */
  readonly partOf: Map<string, string> = new Map();
  readonly #looking = new Map<string, Promise<void>>();
  readonly #calls = new Set<Promise<unknown>>();

  constructor(options: JobPlacesOptions) {
    this.#options = options;
  }

  /** From now on the new jobs of a day go to this part. `underWay`: jobs of the part before that stay there. */
  begin(part: string, underWay: readonly string[]): void {
    const before = this.newest.get(dayOfPart(part));
    if (before === part) return;
    this.newest.set(dayOfPart(part), part);
    if (before !== undefined) for (const id of underWay) this.partOf.set(id, before);
  }

  findNewest(day: string): Promise<void> {
    const { directory, partBytes } = this.#options;
    const find = async (): Promise<void> => {
      try {
        const [newest = day] = await directory.partsOf(new Set([day]));
        const isFull = ((await directory.versionOf(newest))?.size ?? 0) >= partBytes;
        if (!this.newest.has(day)) this.newest.set(day, isFull ? nextPart(newest) : newest);
      } catch {
        // A directory that cannot be listed keeps no job from its record: the first part of the day gets it.
      }
    };
    // Callers that ask at the same time go on in the order in which they asked.
    const looking = this.#looking.get(day) ?? this.#tracked(find().finally(() => this.#looking.delete(day)));
    this.#looking.set(day, looking);
    return looking;
  }

  /** Finds jobs, and remembers where they are. */
  locate(ids: readonly string[]): Promise<ReadonlyMap<string, FoundJob>> {
    const find = async (): Promise<ReadonlyMap<string, FoundJob>> => {
      const found = await this.#options.archive.find(ids);
      const older = new Set<string>();
      for (const [id, { part }] of found) {
        if (await this.#isNewest(part)) continue;
        this.partOf.set(id, part);
        older.add(part);
      }
      for (const part of older) await this.openJobsOf(part);
      return found;
    };
    return this.#tracked(find());
  }

  /** The jobs of a part that have not ended. */
  async openJobsOf(part: string): Promise<readonly DayJob[]> {
    const { archive, onOlderPart } = this.#options;
    const { jobs, size, ino } = await archive.openJobs(part);
    if (jobs.length === 0 || (await this.#isNewest(part))) return jobs;
    for (const { id } of jobs) this.partOf.set(id, part);
    onOlderPart(part, { size, ino, open: new Map(jobs.map(({ id, startedAt }) => [id, startedAt])) });
    return jobs;
  }

  /** Resolves when no call is under way, and what its caller does next has begun. */
  async settled(): Promise<void> {
    while (this.#calls.size > 0) await Promise.allSettled(this.#calls);
  }

  async #isNewest(part: string): Promise<boolean> {
    const day = dayOfPart(part);
    if (!this.newest.has(day)) await this.findNewest(day);
    return part === (this.newest.get(day) ?? day);
  }

  #tracked<Result>(call: Promise<Result>): Promise<Result> {
    this.#calls.add(call);
    void call.catch(() => {}).finally(() => this.#calls.delete(call));
    return call;
  }
}
