/**
 * The four subfolders of a work directory, and how a file moves between them: never over an existing file, and never so
 * that a crash loses it. The claims decide which process may move a file.
 */
import { dirname, join } from "node:path";
import { randomToken } from "../../random.js";
import { StateFileError } from "../../state/errors.js";
import {
  type Disk,
  errorCode,
  makePrivateDirectory,
  NO_HARD_LINKS,
  syncDirectory,
  unless,
} from "../../state/file/disk.js";
import { numberedName } from "./claim-name.js";
import { attempt, diskFault } from "./disk-fault.js";

export type Subfolder = "done" | "failed" | "ready" | "working";
const SUBFOLDERS: readonly Subfolder[] = ["ready", "working", "done", "failed"];
/** After this many files of one name, a file gets a random suffix, because counting would take ever longer. */
const NUMBERS = 9;

/** A second link to the same file. */
export interface OtherLink {
  readonly subfolder: Subfolder;
  readonly name: string;
}

export interface MoveOptions {
  /** Whether the name is free for the files that go with the item. */
  readonly isFree?: ((name: string) => Promise<boolean>) | undefined;
  /** Called when the file is in its new subfolder, and perhaps still in the old one. */
  readonly onPlaced?: (() => void) | undefined;
}

export class WorkFolder {
  readonly path: string;
  readonly disk: Disk;

  constructor(path: string, disk: Disk) {
    this.path = path;
    this.disk = disk;
  }

  fileIn(subfolder: Subfolder, name = ""): string {
    return join(this.path, subfolder, name);
  }

  /** Creates the missing subfolders. */
  async prepare(): Promise<void> {
    for (const subfolder of SUBFOLDERS) {
      try {
        await makePrivateDirectory(this.disk, this.fileIn(subfolder));
      } catch (error) {
        if (!(error instanceof StateFileError)) throw error;
        throw diskFault(error.path, error.operation, error.cause);
      }
    }
  }

  /** The names in a subfolder; `undefined` for each name that is not UTF-8. */
  async list(subfolder: Subfolder): Promise<readonly (string | undefined)[]> {
    const directory = this.fileIn(subfolder);
    const names = await attempt(directory, "list", this.disk.readdir(directory, { encoding: "buffer" }));
    return names.map((bytes) => {
      const name = bytes.toString("utf8");
      return Buffer.from(name).equals(bytes) ? name : undefined;
    });
  }

  /** Renames a file to a unique name. Of several concurrent calls one succeeds, and the rest return `false`. */
  async rename(from: string, to: string): Promise<boolean> {
    return attempt(from, "rename", this.#rename(from, to));
  }

  /**
   * Moves a file of `working` under its name, or under a numbered name where that exists. Returns the name; `undefined`
   * for a missing file. A crash may leave the file in both subfolders, with two links: see `otherLinkOf`.
   */
  async move(
    from: string,
    subfolder: Subfolder,
    name: string,
    options: MoveOptions = {},
  ): Promise<string | undefined> {
    for (let number = 1; ; number++) {
      const suffix = number > NUMBERS ? randomToken() : String(number);
      const free = number === 1 ? name : numberedName(name, suffix);
      if ((await options.isFree?.(free)) === false) continue;
      const to = this.fileIn(subfolder, free);
      const outcome = await attempt(to, "move a file to", this.#linkOrRename(from, to));
      if (outcome === "gone") return undefined;
      if (outcome === "occupied") continue;
      options.onPlaced?.();
      // The old link may go only when the new one is durable.
      await attempt(to, "sync", syncDirectory(this.disk, dirname(to)));
      await attempt(from, "remove", unless(["ENOENT"], this.disk.unlink(from)));
      return free;
    }
  }

  /** The second link that an interrupted move left; preferably one outside of `working`. */
  async otherLinkOf(path: string): Promise<OtherLink | undefined> {
    const stats = await this.disk.lstat(path);
    if (stats.nlink < 2) return undefined;
    let link: OtherLink | undefined;
    // In the order in which files move, and the first once more, so that a file that moves meanwhile is found.
    for (const subfolder of [...SUBFOLDERS, "ready"] as const) {
      for (const name of await this.list(subfolder)) {
        if (name === undefined || this.fileIn(subfolder, name) === path) continue;
        const other = await unless(["ENOENT"], this.disk.lstat(this.fileIn(subfolder, name)));
        if (other?.ino !== stats.ino) continue;
        link = { subfolder, name };
        if (subfolder !== "working") return link;
      }
    }
    return link;
  }

  async #linkOrRename(from: string, to: string): Promise<"gone" | "occupied" | "placed"> {
    try {
      await this.disk.link(from, to);
      return "placed";
    } catch (error) {
      const code = errorCode(error) ?? "";
      if (code === "ENOENT") return "gone";
      if (code === "EEXIST") return (await this.#areOne(from, to)) ? "placed" : "occupied";
      if (!NO_HARD_LINKS.has(code)) throw error;
    }
    // Without hard links, a file of the same name may appear between this check and the rename.
    const there = await unless(["ENOENT"], this.disk.lstat(to));
    if (there !== undefined) return "occupied";
    return (await this.#rename(from, to)) ? "placed" : "gone";
  }

  async #areOne(a: string, b: string): Promise<boolean> {
    const [one, other] = await Promise.all([a, b].map((path) => unless(["ENOENT"], this.disk.lstat(path))));
    return one !== undefined && one.ino === other?.ino;
  }

  async #rename(from: string, to: string): Promise<boolean> {
    try {
      await this.disk.rename(from, to);
      return true;
    } catch (error) {
      if (errorCode(error) === "ENOENT") return false;
      throw error;
    }
  }
}
