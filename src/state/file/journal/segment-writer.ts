/**
 * Writes the open segment of a journal. What is not known to be durable is cut off again before anything else is written,
 * so that a decision that was refused cannot come back beside the one made in its place.
 */
import { constants } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { StateFileError } from "../../errors.js";
import { attempt, closeQuietly, type Disk, makePrivateDirectory, syncDirectory, unless } from "../disk.js";
import type { SegmentFiles } from "./segment-files.js";

const PRIVATE_FILE = 0o600;
const { O_CREAT, O_EXCL, O_NOFOLLOW, O_RDWR, O_WRONLY } = constants;
/** The time of a segment's last change when it has a successor, or gets one now: a guest looks for that, at no other time. */
export const SEALED_MS = 0;

/** Whether the file may be written to: "lost" when it was deleted, or has lost bytes that were durable. */
export type WriterState = "ready" | "lost";

export class SegmentWriter {
  readonly segment: number;
  readonly #disk: Disk;
  readonly #files: SegmentFiles;
  #handle: FileHandle | undefined;
  /** How many bytes of the file are durable, all of them whole lines. */
  #length: number;
  #end: number;
  /** Whether the directory is known to have the file safely. */
  #isEntryDurable = false;

  constructor(disk: Disk, files: SegmentFiles, segment: number, length: number) {
    this.#disk = disk;
    this.#files = files;
    this.segment = segment;
    this.#length = length;
    this.#end = length;
  }

  get length(): number {
    return this.#length;
  }

  /** Where the next line begins. */
  get end(): number {
    return this.#end;
  }

  /** Whether the next line can be written without `prepare`. */
  get isReady(): boolean {
    return this.#handle !== undefined && this.#isEntryDurable;
  }

  /** Cuts off what is not durable. Called before the first write, and after one that failed. */
  async prepare(): Promise<WriterState> {
    const path = this.#files.path(this.segment);
    if (!this.#isEntryDurable) {
      const { directory } = this.#files;
      await attempt(directory, "sync directory", syncDirectory(this.#disk, directory));
      this.#isEntryDurable = true;
    }
    this.#handle ??= await attempt(
      path,
      "open",
      unless(["ENOENT"], this.#disk.open(path, O_RDWR | O_NOFOLLOW)),
    );
    if (this.#handle === undefined) return "lost";
    const { size, nlink } = await attempt(path, "stat", this.#handle.stat());
    if (nlink === 0 || size < this.#length) return "lost";
    if (size > this.#length) {
      await attempt(path, "write", this.#handle.truncate(this.#length));
      await attempt(path, "sync", this.#handle.datasync());
    }
    this.#end = this.#length;
    return "ready";
  }

  /** Durable after `sync`, and kept after `commit`. */
  async write(bytes: Uint8Array): Promise<void> {
    const path = this.#files.path(this.segment);
    if (this.#handle === undefined) throw new StateFileError(path, "append", new Error("it is not open"));
    const { bytesWritten } = await attempt(
      path,
      "append",
      this.#handle.write(bytes, 0, bytes.length, this.#end),
    );
    if (bytesWritten < bytes.length) {
      const reason = `only ${bytesWritten} of ${bytes.length} bytes fit`;
      throw new StateFileError(path, "append", new Error(reason));
    }
    this.#end += bytes.length;
  }

  /** Makes what was written durable; "lost" when the file is not as it was written. */
  async sync(): Promise<WriterState> {
    const path = this.#files.path(this.segment);
    if (this.#handle === undefined) throw new StateFileError(path, "sync", new Error("it is not open"));
    const [{ size, nlink }] = await Promise.all([
      attempt(path, "stat", this.#handle.stat()),
      attempt(path, "sync", this.#handle.datasync()),
    ]);
    return nlink > 0 && size === this.#end ? "ready" : "lost";
  }

  /** What was written and synced is not cut off any more. */
  commit(): void {
    this.#length = this.#end;
  }

  /** The next write opens the file again. */
  async release(): Promise<void> {
    const handle = this.#handle;
    this.#handle = undefined;
    if (handle !== undefined) await closeQuietly(handle);
  }
}

/** A new file beside its place, durable; `place` puts it there. */
export class PreparedFile {
  readonly #disk: Disk;
  readonly #path: string;
  readonly #temporary: string;

  private constructor(disk: Disk, path: string) {
    this.#disk = disk;
    this.#path = path;
    this.#temporary = `${path}.tmp`;
  }

  static async write(disk: Disk, directory: string, path: string, bytes: Uint8Array): Promise<PreparedFile> {
    const file = new PreparedFile(disk, path);
    await makePrivateDirectory(disk, directory);
    try {
      await file.#write(bytes);
    } catch (error) {
      await file.discard();
      throw error;
    }
    return file;
  }

  async place(): Promise<void> {
    await attempt(this.#path, "rename", this.#disk.rename(this.#temporary, this.#path));
  }

  async discard(): Promise<void> {
    await this.#disk.unlink(this.#temporary).catch(() => {});
  }

  async #write(bytes: Uint8Array): Promise<void> {
    const path = this.#temporary;
    // Of an earlier attempt.
    await attempt(path, "remove", unless(["ENOENT"], this.#disk.unlink(path)));
    const flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW;
    const handle = await attempt(path, "create", this.#disk.open(path, flags, PRIVATE_FILE));
    try {
      // Whatever the umask.
      await attempt(path, "create", handle.chmod(PRIVATE_FILE));
      const { bytesWritten } = await attempt(path, "write", handle.write(bytes, 0, bytes.length, 0));
      if (bytesWritten < bytes.length) {
        const reason = `only ${bytesWritten} of ${bytes.length} bytes fit`;
        throw new StateFileError(path, "write", new Error(reason));
      }
      await attempt(path, "sync", handle.sync());
    } finally {
      await closeQuietly(handle);
    }
  }
}
