/** A real disk that keeps count of what is asked of it, and of which any single step can be made to fail. */
import type { FileHandle } from "node:fs/promises";
import { basename } from "node:path";
import { type Disk, nodeDisk } from "../../src/state/file/disk.js";

/** "open 2026-11-15.jsonl", "write 2026-11-15.jsonl", "readdir jobs": what is done, and to which file. */
export type Step = string;

const EXT4 = 0xef53;
const NFS = 0x6969;

export class WatchedDisk {
  readonly steps: Step[] = [];
  /** Called before each step: throws to make it fail. */
  before: (step: Step) => void | Promise<void> = () => {};
  /** How many of the bytes of a write reach the file. */
  bytesTaken: (step: Step, length: number) => number = (_, length) => length;
  /** How many handles are open. */
  open = 0;
  readonly disk: Disk;

  /** One of another machine, if nothing else is said, so that every step can be waited for. */
  constructor({ isLocal = false }: { readonly isLocal?: boolean } = {}) {
    const type = isLocal ? EXT4 : NFS;
    this.disk = new Proxy(nodeDisk, {
      get: (target, name: keyof Disk) => {
        if (name === "statfs") return async () => ({ type });
        if (name === "lstatSync") return (path: string) => this.#glance(path);
        if (name === "renameSync") return (from: string, to: string) => this.#renameSync(from, to);
        return async (path: string, ...rest: never[]) => {
          await this.#step(`${name} ${basename(path)}`);
          const result = await (target[name] as (...args: unknown[]) => Promise<unknown>)(path, ...rest);
          return name === "open" ? this.#watched(result as FileHandle, basename(path)) : result;
        };
      },
    });
  }

  count(pattern: RegExp): number {
    return this.steps.filter((step) => pattern.test(step)).length;
  }

  #glance(path: string): unknown {
    const step = `lstatSync ${basename(path)}`;
    this.steps.push(step);
    void this.before(step);
    return nodeDisk.lstatSync(path, { bigint: true, throwIfNoEntry: false });
  }

  #renameSync(from: string, to: string): void {
    const step = `renameSync ${basename(from)}`;
    this.steps.push(step);
    void this.before(step);
    nodeDisk.renameSync(from, to);
  }

  async #step(step: Step): Promise<void> {
    this.steps.push(step);
    await this.before(step);
  }

  /** A close that fails has closed the file all the same, as on Linux. */
  async #close(handle: FileHandle, name: string): Promise<void> {
    this.open--;
    try {
      await this.#step(`close ${name}`);
    } finally {
      await handle.close();
    }
  }

  #watched(handle: FileHandle, name: string): FileHandle {
    this.open++;
    return new Proxy(handle, {
      get: (target, key) => {
        const value: unknown = Reflect.get(target, key, target);
        if (typeof value !== "function" || typeof key !== "string") return value;
        if (key === "close") return () => this.#close(target, name);
        return async (...args: unknown[]) => {
          await this.#step(`${key} ${name}`);
          if (key === "write") args = this.#shortened(`${key} ${name}`, args);
          if (key === "writeFile") args = [this.#beginning(`${key} ${name}`, args[0])];
          return (value as (...args: unknown[]) => Promise<unknown>).apply(target, args);
        };
      },
    });
  }

  #beginning(step: Step, data: unknown): Uint8Array {
    const bytes = Buffer.from(data as string | Uint8Array);
    return bytes.subarray(0, this.bytesTaken(step, bytes.length));
  }

  #shortened(step: Step, [bytes, offset, length, position]: unknown[]): unknown[] {
    const asked = (length as number | undefined) ?? (bytes as Uint8Array).length;
    return [bytes, offset ?? 0, this.bytesTaken(step, asked), position ?? null];
  }
}

export function systemError(code: string): Error {
  return Object.assign(new Error(`${code}: made to fail`), { code });
}
