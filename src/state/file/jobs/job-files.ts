/** A job's output and whether the process that runs it is still there, read beside the scheduler that writes them. */
import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import type { Logger } from "../../../logger.js";
import { nodeDisk, unless } from "../disk.js";
import { lifeOf, signerOf } from "../lock/process-identity.js";
import { JobArchive } from "./job-archive.js";
import { dayOfPart, JobDirectory } from "./job-directory.js";

export interface JobTally {
  readonly days: number;
  /** Of records and outputs. */
  readonly bytes: number;
  /** Jobs that only the next scheduler will close. */
  readonly abandoned: number;
}

export class JobFiles {
  readonly #directory: JobDirectory;
  readonly #archive: JobArchive;

  constructor(stateDir: string, logger: Logger) {
    this.#directory = new JobDirectory(join(stateDir, "jobs"), nodeDisk);
    this.#archive = new JobArchive(this.#directory, logger);
  }

  /** As bytes: an output that is being written may end within a character. `undefined` where there is none yet. */
  output(id: string): Promise<Buffer | undefined> {
    return this.#directory.read(this.#directory.outputPath(id));
  }

  /** Whether the process that started an open job is known to be dead, so that it will not close the job. */
  async isAbandoned(id: string): Promise<boolean> {
    const job = (await this.#archive.find([id])).get(id)?.job;
    return job?.end === undefined && isOfTheDead(job?.process);
  }

  async tally(): Promise<JobTally> {
    const { parts } = await this.#directory.list();
    let abandoned = 0;
    for (const part of parts) {
      const { jobs } = await this.#archive.openJobs(part);
      abandoned += jobs.filter(({ process }) => isOfTheDead(process)).length;
    }
    let bytes = 0;
    for (const name of (await unless(["ENOENT"], readdir(this.#directory.path))) ?? [])
      bytes += (await unless(["ENOENT"], lstat(join(this.#directory.path, name))))?.size ?? 0;
    return { days: new Set(parts.map(dayOfPart)).size, bytes, abandoned };
  }
}

function isOfTheDead(process: string | undefined): boolean {
  const signer = signerOf(process ?? "");
  return signer !== undefined && lifeOf(signer) === "dead";
}
