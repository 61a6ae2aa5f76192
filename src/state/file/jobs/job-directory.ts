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
const PART_FILE = /^(\d{4}-\d\d-\d\d(?:\.[1-9]\d{0,8})?)\.jsonl$/;
const DRAFT_FILE = /^\d{4}-\d\d-\d\d(?:\.[1-9]\d{0,8})?\.jsonl\.tmp$/;
const OUTPUT_FILE = /^(.*)\.log$/;

export interface JobFileNames {
  /** "2026-11-15", "2026-11-15.1": the parts of all days, newest first. */
  readonly parts: readonly string[];
  /** The ids of the jobs that have an output. */
  readonly outputs: readonly string[];
}

/** What tells two versions of a file apart: it only grows, or is replaced. */
export interface PartVersion {
  readonly size: number;
  readonly ino: number;
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

  partPath(part: string): string {
    return join(this.path, `${part}.jsonl`);
  }

  outputPath(id: string): string {
    return join(this.path, `${id}.log`);
  }

  /** What is there that is ours by its name. */
  async list(): Promise<JobFileNames> {
    const parts: string[] = [];
    const outputs: string[] = [];
    for (const name of await this.#names()) {
      const part = PART_FILE.exec(name)?.[1];
      const id = OUTPUT_FILE.exec(name)?.[1];
      if (part !== undefined) parts.push(part);
      if (id !== undefined && dayInJobId(id) !== undefined) outputs.push(id);
    }
    return { parts: parts.toSorted(newerFirst), outputs };
  }

  /** The parts of some days, newest first. */
  async partsOf(days: ReadonlySet<string>): Promise<readonly string[]> {
    return (await this.list()).parts.filter((part) => days.has(dayOfPart(part)));
  }

  /** `undefined` where the part does not exist. */
  async versionOf(part: string): Promise<PartVersion | undefined> {
    const path = this.partPath(part);
    return attempt(path, "stat", unless(["ENOENT"], this.#disk.lstat(path)));
  }

  async sizeOfOutput(id: string): Promise<number> {
    const path = this.outputPath(id);
    return (await attempt(path, "stat", unless(["ENOENT"], this.#disk.lstat(path))))?.size ?? 0;
  }

  /** A new, empty file that replaces the part when `replacePart` is called. */
  createDraft(part: string): Promise<FileHandle> {
    return this.#create(this.#draftPath(part), O_RDWR | O_EXCL | O_APPEND);
  }

  async replacePart(part: string): Promise<void> {
    const path = this.partPath(part);
    await attempt(path, "rename", this.#disk.rename(this.#draftPath(part), path));
  }

  /** Removes what a process that died left of its drafts. */
  async removeDrafts(): Promise<void> {
    for (const name of await this.#names())
      if (DRAFT_FILE.test(name)) await this.remove(join(this.path, name));
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

  #draftPath(part: string): string {
    return `${this.partPath(part)}.tmp`;
  }

  async #names(): Promise<readonly string[]> {
    if (!(await this.#isThere())) return [];
    return attempt(this.path, "list", this.#disk.readdir(this.path));
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

export function dayOfPart(part: string): string {
  return part.slice(0, "2026-11-15".length);
}

/** The part of the same day that begins when this one is full. */
export function nextPart(part: string): string {
  return `${dayOfPart(part)}.${numberOfPart(part) + 1}`;
}

function numberOfPart(part: string): number {
  return Number(part.slice("2026-11-15.".length));
}

function newerFirst(a: string, b: string): number {
  if (dayOfPart(a) !== dayOfPart(b)) return a < b ? 1 : -1;
  return numberOfPart(b) - numberOfPart(a);
}
