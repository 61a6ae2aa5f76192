/**
 * Which files in `ready` are items, and which of them come first. A file is parsed once, and again when it has changed:
 * what is kept of all is their rank, and a few items that are not large, because a folder may hold more than memory does.
 */
import type { Stats } from "node:fs";
import { BoundedCache } from "../../bounded-cache.js";
import { unless } from "../../state/file/disk.js";
import type { FieldsProblem } from "../item-fields.js";
import { compareWork, type WorkRank } from "../work-order.js";
import type { FetchOptions, WorkItem } from "../work-source.js";
import { isIgnored, nameProblem } from "./claim-name.js";
import type { Complaints } from "./file-warnings.js";
import { attempt } from "./disk-fault.js";
import { fileProblem, readItem } from "./read-item.js";
import type { Place, WorkFolder } from "./work-folder.js";

/** What is known of a file, as long as its sign is the same. */
interface KnownFile {
  readonly name: string;
  readonly sign: string;
  readonly size: number;
  /** None of a file that is no item. */
  readonly rank: WorkRank | undefined;
}

/** How many files are looked at together: as many as Node's threads can use. */
const TOGETHER = 8;
/** Several pages, and at most 16 MB altogether. */
const KEPT_ITEMS = 250;
const LARGEST_KEPT_BYTES = 65_536;

export class ReadyFiles {
  readonly #folder: WorkFolder;
  readonly #complaints: Complaints;
  #known: ReadonlyMap<string, KnownFile> = new Map();
  /** By the name and the sign of the file. */
  readonly #items = new BoundedCache<string, WorkItem>(KEPT_ITEMS);

  constructor(folder: WorkFolder, complaints: Complaints) {
    this.#folder = folder;
    this.#complaints = complaints;
  }

  /** The items that come first, without those whose name is in use by one that is being worked on. */
  async first(
    { limit = 50, signal }: FetchOptions,
    isInUse: (name: string) => boolean,
  ): Promise<readonly WorkItem[]> {
    const names = (await this.#folder.list("ready")).filter((name) => this.#isItem(name));
    const known = new Map<string, KnownFile>();
    for (let start = 0; start < names.length; start += TOGETHER) {
      signal?.throwIfAborted();
      const files = names.slice(start, start + TOGETHER).map((name) => this.#look(name));
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
    this.#complaints.make(this.#folder.fileIn("ready", name ?? "a name that"), problem ?? "");
    return false;
  }

  /** `undefined` for what is gone, or has to be looked at again. */
  async #look(name: string): Promise<KnownFile | undefined> {
    const path = this.#folder.fileIn("ready", name);
    const stats = await attempt(path, "look at", unless(["ENOENT"], this.#folder.disk.lstat(path)));
    if (stats === undefined) return undefined;
    const sign = signOf(stats);
    const known = this.#known.get(name);
    if (known?.sign === sign) return known;
    const problem = fileProblem(stats);
    const item: FieldsProblem | WorkItem | undefined =
      problem === undefined ? await this.#read({ name, sign, size: stats.size }) : { problem };
    if (item === undefined) return undefined;
    if ("problem" in item) {
      this.#complaints.make(path, item.problem, sign);
      return item.isPassing === true ? undefined : { name, sign, size: stats.size, rank: undefined };
    }
    const { id, priority, createdAt } = item;
    return { name, sign, size: stats.size, rank: { id, priority, createdAt } };
  }

  async #read(file: Omit<KnownFile, "rank">): Promise<FieldsProblem | WorkItem | undefined> {
    const item = await readWork(this.#folder, "ready", file.name);
    const isKept = item !== undefined && !("problem" in item) && file.size <= LARGEST_KEPT_BYTES;
    return isKept ? this.#items.set(keyOf(file), item) : item;
  }
}

/** The files of items, those first that come first. */
function inOrder(files: Iterable<KnownFile>): KnownFile[] {
  const ranked: { readonly file: KnownFile; readonly rank: WorkRank }[] = [];
  for (const file of files) if (file.rank !== undefined) ranked.push({ file, rank: file.rank });
  return ranked.toSorted((a, b) => compareWork(a.rank, b.rank)).map(({ file }) => file);
}

function keyOf({ name, sign }: Pick<KnownFile, "name" | "sign">): string {
  return `${sign} ${name}`;
}

/** The item of a file, whatever that is called where it stands; `undefined` when there is none. */
export async function readWork(
  folder: WorkFolder,
  place: Place,
  name: string,
  file: string = name,
): Promise<FieldsProblem | WorkItem | undefined> {
  const read = await readItem(folder.disk, folder.fileIn(place, file), name);
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

function signOf({ ino, size, mtimeMs, ctimeMs }: Stats): string {
  return `${ino} ${size} ${mtimeMs} ${ctimeMs}`;
}
