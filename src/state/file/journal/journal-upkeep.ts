/** What a journal's directory needs beside its lines: damage reported and kept, what is half made or not needed removed. */
import { join } from "node:path";
import type { Clock } from "../../../clock.js";
import type { Logger } from "../../../logger.js";
import { attempt, type Disk, errorCode, removeQuietly, unless } from "../disk.js";
import { keepDamaged } from "../keep-damaged.js";
import type { JournalDamage } from "./replay.js";
import type { SegmentFiles } from "./segment-files.js";

export interface JournalUpkeepOptions {
  readonly disk: Disk;
  readonly clock: Clock;
  readonly logger: Logger;
}

const DAMAGES_SHOWN = 20;

export class JournalUpkeep {
  readonly #options: JournalUpkeepOptions;
  readonly #files: SegmentFiles;
  /** Files that are to be kept. */
  #damaged: readonly string[] = [];
  readonly #reported = new Set<string>();

  constructor(options: JournalUpkeepOptions, files: SegmentFiles) {
    this.#options = options;
    this.#files = files;
  }

  /** Reports each damage once. */
  noteDamages(damages: readonly JournalDamage[]): void {
    const { logger } = this.#options;
    this.#damaged = [...new Set(damages.map(({ segment }) => this.#files.path(segment)))];
    const reports = damages.map(
      ({ segment, problem }) => `Damage in ${this.#files.path(segment)}: ${problem}.`,
    );
    const fresh = reports.filter((report) => !this.#reported.has(report));
    for (const report of fresh.slice(0, DAMAGES_SHOWN)) logger.warn(`${report} The file is kept beside it.`);
    const hidden = fresh.length - DAMAGES_SHOWN;
    if (hidden > 0) logger.warn(`Damage in ${this.#files.directory}: ${hidden} more places.`);
    for (const report of fresh) this.#reported.add(report);
  }

  /** Gives damaged files a second name, before a new segment makes them old. */
  async keepDamaged(): Promise<void> {
    const { disk, clock } = this.#options;
    for (const path of this.#damaged) {
      try {
        await keepDamaged(disk, path, clock.now());
      } catch (error) {
        // Moved away by a person.
        if (!(error instanceof Error) || errorCode(error.cause) !== "ENOENT") throw error;
      }
    }
    this.#damaged = [];
  }

  /** Removes the segments before this one, the oldest first, and returns their numbers. */
  async removeBefore(first: number): Promise<readonly number[]> {
    const { segments } = await this.#files.list();
    const old = segments.filter((segment) => segment < first);
    for (const segment of old) {
      for (const path of [this.#files.path(segment), this.#files.indexPath(segment)])
        await attempt(path, "remove", unless(["ENOENT"], this.#options.disk.unlink(path)));
      this.#files.forget(segment);
    }
    return old;
  }

  /** Removes what a process that died left half made. */
  async sweep(): Promise<void> {
    const { segments, others } = await this.#files.list();
    for (const { name, segment } of others)
      if (name.endsWith(".tmp") || !segments.includes(segment))
        await removeQuietly(this.#options.disk, join(this.#files.directory, name));
  }
}
