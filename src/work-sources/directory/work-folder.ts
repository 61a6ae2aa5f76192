/**
 * The four directories of a directory of work, and how a file gets from one to another: never over another file, and
 * never so that it is lost. Who may move it is decided by the claims.
 */
import { dirname, join } from "node:path";
import { randomToken } from "../../random.js";
import { StateFileError } from "../../state/errors.js";
import { type Disk, errorCode, makePrivateDirectory, syncDirectory, unless } from "../../state/file/disk.js";
import { NO_HARD_LINKS } from "../../state/file/durable-file.js";
import { numberedName } from "./claim-name.js";
import { attempt, diskFault } from "./disk-fault.js";

export type Place = "done" | "failed" | "ready" | "working";
const PLACES: readonly Place[] = ["ready", "working", "done", "failed"];
/** After so many files of one name, the next ones are no longer numbered: counting would take ever longer. */
const NUMBERS = 9;

/** Another link to the same file. */
export interface Twin {
  readonly place: Place;
  readonly name: string;
}

export interface MoveOptions {
  /** Whether the file may have this name there, as far as other files than its own go. */
  readonly isFree?: ((name: string) => Promise<boolean>) | undefined;
  /** Called when the file is in its new place, and perhaps still in the old one. */
  readonly onPlaced?: (() => void) | undefined;
}

export class WorkFolder {
  readonly path: string;
  readonly disk: Disk;

  constructor(path: string, disk: Disk) {
    this.path = path;
    this.disk = disk;
  }

  fileIn(place: Place, name = ""): string {
    return join(this.path, place, name);
  }

  /** Makes what is missing. */
  async prepare(): Promise<void> {
    for (const place of PLACES) {
      try {
        await makePrivateDirectory(this.disk, this.fileIn(place));
      } catch (error) {
        if (!(error instanceof StateFileError)) throw error;
        throw diskFault(error.path, error.operation, error.cause);
      }
    }
  }

  /** The names in a directory; `undefined` stands for each that is not text. */
  async list(place: Place): Promise<readonly (string | undefined)[]> {
    const directory = this.fileIn(place);
    const names = await attempt(directory, "list", this.disk.readdir(directory, { encoding: "buffer" }));
    return names.map((bytes) => {
      const name = bytes.toString("utf8");
      return Buffer.from(name).equals(bytes) ? name : undefined;
    });
  }

  /** Renames to a name that nobody else has. Of several at once one succeeds; answers `false` to the others. */
  async take(from: string, to: string): Promise<boolean> {
    return attempt(from, "rename", this.#rename(from, to));
  }

  /**
   * Moves a file of `working` under its name, or a numbered one if that is taken there. Answers which; `undefined` when
   * the file is gone. Cut short, it leaves the file in both places, with two links: see `twinOf`.
   */
  async move(
    from: string,
    place: Place,
    name: string,
    options: MoveOptions = {},
  ): Promise<string | undefined> {
    for (let number = 1; ; number++) {
      const suffix = number > NUMBERS ? randomToken() : String(number);
      const free = number === 1 ? name : numberedName(name, suffix);
      if ((await options.isFree?.(free)) === false) continue;
      const to = this.fileIn(place, free);
      const outcome = await attempt(to, "move a file to", this.#place(from, to));
      if (outcome === "gone") return undefined;
      if (outcome === "occupied") continue;
      options.onPlaced?.();
      // What is safe in its new place may go from the old one.
      await attempt(to, "sync", syncDirectory(this.disk, dirname(to)));
      await attempt(from, "remove", unless(["ENOENT"], this.disk.unlink(from)));
      return free;
    }
  }

  /** Where the file also is, because a move was cut short; a place other than `working` if there is one. */
  async twinOf(path: string): Promise<Twin | undefined> {
    const stats = await this.disk.lstat(path);
    if (stats.nlink < 2) return undefined;
    let twin: Twin | undefined;
    // In the direction in which files go, and the first once more: one that moves meanwhile is met.
    for (const place of [...PLACES, "ready"] as const) {
      for (const name of await this.list(place)) {
        if (name === undefined || this.fileIn(place, name) === path) continue;
        const other = await unless(["ENOENT"], this.disk.lstat(this.fileIn(place, name)));
        if (other?.ino !== stats.ino) continue;
        twin = { place, name };
        if (place !== "working") return twin;
      }
    }
    return twin;
  }

  async #place(from: string, to: string): Promise<"gone" | "occupied" | "placed"> {
    try {
      await this.disk.link(from, to);
      return "placed";
    } catch (error) {
      const code = errorCode(error) ?? "";
      if (code === "ENOENT") return "gone";
      if (code === "EEXIST") return (await this.#areOne(from, to)) ? "placed" : "occupied";
      if (!NO_HARD_LINKS.has(code)) throw error;
    }
    // Without links there is a moment in which another could come to be there.
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
