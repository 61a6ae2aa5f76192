/** Keeps a damaged file beside itself before it is written over, so that a person can look for what was lost. */
import { constants } from "node:fs";
import { basename, dirname, join } from "node:path";
import { attempt, type Disk, errorCode, NO_HARD_LINKS, unless } from "./disk.js";

const KEPT = 5;
/** What follows the name of the file and ".corrupt-". */
const TIME = /^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z(?:-\d+)?$/;

/** Gives the file a second name, `state.yaml.corrupt-<time>`, and removes the oldest of more than five. */
export async function keepDamaged(disk: Disk, path: string, now: Date): Promise<void> {
  const directory = dirname(path);
  const prefix = `${basename(path)}.corrupt-`;
  const added = await attempt(path, "link", addName(disk, path, now));
  const names = await attempt(directory, "list", disk.readdir(directory));
  // Clocks are set back at times: the one just added is the newest, whatever its name says.
  const older = names.filter(
    (name) => name !== added && name.startsWith(prefix) && TIME.test(name.slice(prefix.length)),
  );
  for (const name of older.toSorted().slice(0, 1 - KEPT)) {
    const old = join(directory, name);
    await attempt(old, "remove", unless(["ENOENT"], disk.unlink(old)));
  }
}

/** The name that the file was given. */
async function addName(disk: Disk, path: string, now: Date): Promise<string> {
  const kept = `${path}.corrupt-${now.toISOString().replaceAll(/[:.]/g, "-")}`;
  for (let number = 0; ; number++) {
    const name = number === 0 ? kept : `${kept}-${number}`;
    try {
      await linkOrCopy(disk, path, name);
      return basename(name);
    } catch (error) {
      if (errorCode(error) !== "EEXIST") throw error;
    }
  }
}

/** The file itself stays where it is: until it is replaced, it is all there is. */
async function linkOrCopy(disk: Disk, path: string, name: string): Promise<void> {
  try {
    await disk.link(path, name);
  } catch (error) {
    if (!NO_HARD_LINKS.has(errorCode(error) ?? "")) throw error;
    await disk.copyFile(path, name, constants.COPYFILE_EXCL);
  }
}
