/** The outputs of jobs as files, and which of them are being written. How much is kept is capped-output.ts's matter. */
import type { FileHandle } from "node:fs/promises";
import { CappedOutput, type OutputBytes } from "../../job-log/capped-output.js";
import { attempt } from "../disk.js";
import { StateFileError } from "../../errors.js";
import type { JobDirectory } from "./job-directory.js";
import { outputTakenError } from "../../job-log/job-id.js";
import type { JobOutput } from "../../job-log/job-log.js";

export class JobOutputs {
  readonly #directory: JobDirectory;
  readonly #maxBytes: number;
  readonly #open = new Map<string, CappedOutput>();

  constructor(directory: JobDirectory, maxBytes: number) {
    this.#directory = directory;
    this.#maxBytes = maxBytes;
  }

  async open(id: string): Promise<JobOutput> {
    const handle = await this.#directory.createOutput(id);
    if (handle === undefined) throw outputTakenError(id);
    const bytes = new FileOutputBytes(handle, this.#directory.outputPath(id));
    const output = new CappedOutput(bytes, this.#maxBytes, () => this.#open.delete(id));
    this.#open.set(id, output);
    return output;
  }

  isOpen(id: string): boolean {
    return this.#open.has(id);
  }

  /** Of an output that is being written: what it has after the writes called so far. */
  async read(id: string): Promise<string | undefined> {
    const read = (): Promise<Buffer | undefined> => this.#directory.read(this.#directory.outputPath(id));
    const output = this.#open.get(id);
    const bytes = await (output === undefined ? read() : output.whenIdle(read));
    return bytes?.toString("utf8");
  }

  async close(): Promise<void> {
    await Promise.all(Array.from(this.#open.values(), (output) => output.close()));
  }
}

class FileOutputBytes implements OutputBytes {
  readonly #handle: FileHandle;
  readonly #path: string;

  constructor(handle: FileHandle, path: string) {
    this.#handle = handle;
    this.#path = path;
  }

  async read(bytes: Uint8Array, position: number): Promise<number> {
    let filled = 0;
    while (filled < bytes.length) {
      const reading = this.#handle.read(bytes, filled, bytes.length - filled, position + filled);
      const { bytesRead } = await attempt(this.#path, "read", reading);
      if (bytesRead === 0) break;
      filled += bytesRead;
    }
    return filled;
  }

  async write(bytes: Uint8Array, position: number): Promise<number> {
    const writing = this.#handle.write(bytes, 0, bytes.length, position);
    const { bytesWritten } = await attempt(this.#path, "write", writing);
    if (bytesWritten === 0) throw new StateFileError(this.#path, "write", new Error("no byte was taken"));
    return bytesWritten;
  }

  async truncate(size: number): Promise<void> {
    await attempt(this.#path, "write", this.#handle.truncate(size));
  }

  async close(): Promise<void> {
    await attempt(this.#path, "write", this.#handle.close());
  }
}
