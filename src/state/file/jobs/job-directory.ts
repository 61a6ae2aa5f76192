/**
 * The directory of a job log as files: names in, bytes and handles out. What may be there and how it is opened
 * (private, never through a symbolic link) is decided here; what the bytes mean is not.
 */
import { constants } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { join } from "node:path";
import {
  attempt,
  closeQuietly,
  type Disk,
  errorCode,
  makePrivateDirectory,
  syncDirectory,
  unless,
} from "../disk.js";
import { StateFileError } from "../../errors.js";
import { readRange } from "../line-pieces.js";
import { dayInJobId } from "../../job-log/job-id.js";

const { O_APPEND, O_CREAT, O_EXCL, O_NOFOLLOW, O_RDONLY, O_RDWR } = constants;
const PRIVATE_FILE = 0o600;
const DAY_FILE = /^(\d{4}-\d\d-\d\d)\.jsonl$/;
const OUTPUT_FILE = /^(.*)\.log$/;

export interface JobFileNames {
  /** Newest first. */
  readonly days: readonly string[];
  /** The ids of the jobs that have an output. */
  readonly outputs: readonly string[];
}

export interface CreatedDay {
  readonly handle: FileHandle;
  /** Whether the directory was there already, so that it may hold earlier days. */
  readonly isBesideOthers: boolean;
}

export class JobDirectory {
  readonly path: string;
  readonly #disk: Disk;

  constructor(path: string, disk: Disk) {
    this.path = path;
    this.#disk = disk;
  }

  dayPath(day: string): string {
    return join(this.path, `${day}.jsonl`);
  }

  outputPath(id: string): string {
    return join(this.path, `${id}.log`);
  }

  /** What is there that is ours by its name. */
  async list(): Promise<JobFileNames> {
    const days: string[] = [];
    const outputs: string[] = [];
    if (!(await this.#isThere())) return { days, outputs };
    for (const name of await attempt(this.path, "list", this.#disk.readdir(this.path))) {
      const day = DAY_FILE.exec(name)?.[1];
      const id = OUTPUT_FILE.exec(name)?.[1];
      if (day !== undefined) days.push(day);
      if (id !== undefined && dayInJobId(id) !== undefined) outputs.push(id);
    }
    return { days: days.toSorted().toReversed(), outputs };
  }

  async sizeOfDay(day: string): Promise<number> {
    const path = this.dayPath(day);
    const stats = await attempt(path, "stat", unless(["ENOENT"], this.#disk.lstat(path)));
    return stats?.size ?? 0;
  }

  /** `undefined` where the file does not exist. */
  async read(path: string): Promise<Buffer | undefined> {
    const handle = await this.open(path, "read");
    if (handle === undefined) return undefined;
    try {
      const { size } = await attempt(path, "stat", handle.stat());
      return await readRange(handle, path, 0, size);
    } finally {
      await closeQuietly(handle);
    }
  }

  /** Opens a file for reading, or for reading and appending; `undefined` where it does not exist. */
  async open(path: string, mode: "read" | "append"): Promise<FileHandle | undefined> {
    if (!(await this.#isThere())) return undefined;
    const flags = mode === "read" ? O_RDONLY : O_RDWR | O_APPEND;
    return attempt(path, "open", unless(["ENOENT"], this.#disk.open(path, flags | O_NOFOLLOW)));
  }

  async createDay(path: string): Promise<CreatedDay> {
    const isBesideOthers = await this.#isThere();
    return { handle: await this.#create(path, O_RDWR | O_APPEND), isBesideOthers };
  }

  /** `undefined` where the job has an output already. */
  async createOutput(id: string): Promise<FileHandle | undefined> {
    try {
      return await this.#create(this.outputPath(id), O_RDWR | O_EXCL);
    } catch (error) {
      if (error instanceof StateFileError && errorCode(error.cause) === "EEXIST") return undefined;
      throw error;
    }
  }

  async remove(path: string): Promise<void> {
    await attempt(path, "remove", unless(["ENOENT"], this.#disk.unlink(path)));
  }

  /** Makes created and removed files survive a power failure. */
  async sync(): Promise<void> {
    await attempt(this.path, "sync directory", syncDirectory(this.#disk, this.path));
  }

  async #create(path: string, flags: number): Promise<FileHandle> {
    if (!(await this.#isThere())) await makePrivateDirectory(this.#disk, this.path);
    const opening = this.#disk.open(path, flags | O_CREAT | O_NOFOLLOW, PRIVATE_FILE);
    const handle = await attempt(path, "create", opening);
    try {
      // The process's umask has a say in the mode of a new file, and only there.
      await attempt(path, "create", handle.chmod(PRIVATE_FILE));
    } catch (error) {
      await closeQuietly(handle);
      throw error;
    }
    return handle;
  }

  /** Refuses anything but a directory, above all a symbolic link that would lead the log elsewhere. */
  async #isThere(): Promise<boolean> {
    const stats = await attempt(this.path, "stat", unless(["ENOENT"], this.#disk.lstat(this.path)));
    if (stats === undefined || stats.isDirectory()) return stats !== undefined;
    const kind = stats.isSymbolicLink() ? "a symbolic link" : "not a directory";
    throw new StateFileError(this.path, "open", new Error(`it is ${kind}`));
  }
}
