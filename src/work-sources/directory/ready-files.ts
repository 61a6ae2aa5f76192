/**
 * Finds the items in `ready`, and their order. A file is parsed once, and again when it has changed. The ranks of all
 * files are kept in memory, but only a few small items, because a folder may hold more than fits into memory.
 */
import type { Stats } from "node:fs";
import { BoundedCache } from "../../bounded-cache.js";
import { unless } from "../../state/file/disk.js";
import type { FieldsProblem } from "../item-fields.js";
import { compareWork, type WorkRank } from "../work-order.js";
import type { FetchOptions, WorkItem } from "../work-source.js";
import { isIgnored, nameProblem } from "./claim-name.js";
import type { FileWarnings } from "./file-warnings.js";
import { attempt } from "./disk-fault.js";
import { fileProblem, readItem } from "./read-item.js";
import type { Subfolder, WorkFolder } from "./work-folder.js";

/** A file that was read; valid while the version stays the same. */
interface KnownFile {
  readonly name: string;
  readonly version: string;
  readonly size: number;
  /** `undefined` for a file that is not an item. */
  readonly rank: WorkRank | undefined;
}

/** How many files are read at a time: about as many as Node's threads can use. */
const TOGETHER = 8;
/** Several pages, and at most 16 MB in all. */
const KEPT_ITEMS = 250;
const LARGEST_KEPT_BYTES = 65_536;

export class ReadyFiles {
  readonly #folder: WorkFolder;
  readonly #warnings: FileWarnings;
  #known: ReadonlyMap<string, KnownFile> = new Map();
  /** By the name and the version of the file. */
  readonly #items = new BoundedCache<string, WorkItem>(KEPT_ITEMS);

  constructor(folder: WorkFolder, warnings: FileWarnings) {
    this.#folder = folder;
    this.#warnings = warnings;
  }

  /** The first items. Skips a file whose name a claimed item uses. */
  async first(
    { limit = 50, signal }: FetchOptions,
    isInUse: (name: string) => boolean,
  ): Promise<readonly WorkItem[]> {
    const names = (await this.#folder.list("ready")).filter((name) => this.#isItem(name));
    const known = new Map<string, KnownFile>();
    for (let start = 0; start < names.length; start += TOGETHER) {
      signal?.throwIfAborted();
      const files = names.slice(start, start + TOGETHER).map((name) => this.#examine(name));
      for (const file of await Promise.all(files)) if (file !== undefined) known.set(file.name, file);
    }
    this.#known = known;
    const items: WorkItem[] = [];
    for (const file of inOrder(known.values())) {
      if (items.length >= limit) break;
      if (isInUse(file.name)) continue;
      signal?.throwIfAborted();
      const item = this.#items.get(keyOf(file)) ?? (await this.#read(file));
      if (item !== undefined && !("problem" in item)) items.push(item);
    }
    return items;
  }

  #isItem(name: string | undefined): name is string {
    const problem = name === undefined ? "is not valid UTF-8" : nameProblem(name);
    if (name !== undefined && (problem === undefined || isIgnored(name))) return !isIgnored(name);
    this.#warnings.warn(this.#folder.fileIn("ready", name ?? "a name that"), problem ?? "");
    return false;
  }

  /** `undefined` for a missing file, or one whose problem may pass. */
  async #examine(name: string): Promise<KnownFile | undefined> {
    const path = this.#folder.fileIn("ready", name);
    const stats = await attempt(path, "look at", unless(["ENOENT"], this.#folder.disk.lstat(path)));
    if (stats === undefined) return undefined;
    const version = versionOf(stats);
    const known = this.#known.get(name);
    if (known?.version === version) return known;
    const problem = fileProblem(stats);
    const item: FieldsProblem | WorkItem | undefined =
      problem === undefined ? await this.#read({ name, version, size: stats.size }) : { problem };
    if (item === undefined) return undefined;
    if ("problem" in item) {
      this.#warnings.warn(path, item.problem, version);
      return item.isPassing === true ? undefined : { name, version, size: stats.size, rank: undefined };
    }
    const { id, priority, createdAt } = item;
    return { name, version, size: stats.size, rank: { id, priority, createdAt } };
  }

  async #read(file: Omit<KnownFile, "rank">): Promise<FieldsProblem | WorkItem | undefined> {
    const item = await readWork(this.#folder, "ready", file.name);
    const isKept = item !== undefined && !("problem" in item) && file.size <= LARGEST_KEPT_BYTES;
    return isKept ? this.#items.keep(keyOf(file), item) : item;
  }
}

/** The files that are items, in the order of the items. */
function inOrder(files: Iterable<KnownFile>): KnownFile[] {
  const ranked: { readonly file: KnownFile; readonly rank: WorkRank }[] = [];
  for (const file of files) if (file.rank !== undefined) ranked.push({ file, rank: file.rank });
  return ranked.toSorted((a, b) => compareWork(a.rank, b.rank)).map(({ file }) => file);
}

function keyOf({ name, version }: Pick<KnownFile, "name" | "version">): string {
  return `${version} ${name}`;
}

/** The item `name`, whose file is called `file` in the subfolder; `undefined` for a missing file. */
export async function readWork(
  folder: WorkFolder,
  subfolder: Subfolder,
  name: string,
  file: string = name,
): Promise<FieldsProblem | WorkItem | undefined> {
  const read = await readItem(folder.disk, folder.fileIn(subfolder, file), name);
  if (read === undefined || "problem" in read) return read;
  const { modifiedAt, createdAt = modifiedAt, ...rest } = read;
  return {
    ...rest,
    id: idOf(folder, name),
    source: "directory",
    externalId: name,
    createdAt,
    updatedAt: modifiedAt,
  };
}

export function idOf(folder: WorkFolder, name: string): string {
  return `directory:${folder.path}/${name}`;
}

function versionOf({ ino, size, mtimeMs, ctimeMs }: Stats): string {
  return `${ino} ${size} ${mtimeMs} ${ctimeMs}`;
}
