/** What came of an item, in a file beside it. It is safe on the disk before the item is moved, and gets its name after. */
import { randomToken } from "../../random.js";
import { closeQuietly, syncDirectory, unless } from "../../state/file/disk.js";
import type { WorkOutcome } from "../work-source.js";
import { OUTCOME_SUFFIX } from "./claim-name.js";
import { attempt } from "./disk-fault.js";
import type { WorkFolder } from "./work-folder.js";

export interface WrittenOutcome {
  /** Whether an outcome of an item of this name may be put there: no other is. */
  isFree(name: string): Promise<boolean>;
  /** Puts it beside the item. */
  putBeside(name: string): Promise<void>;
  discard(): Promise<void>;
}

/** Writes the outcome under a hidden name. A full disk is noticed here, while the item is still claimed. */
export async function writeOutcome(
  folder: WorkFolder,
  outcome: WorkOutcome,
  finishedAt: Date,
): Promise<WrittenOutcome> {
  const { disk } = folder;
  const place = outcome.outcome === "success" ? "done" : "failed";
  const hidden = folder.fileIn(place, `.${randomToken()}${OUTCOME_SUFFIX}.tmp`);
  const discard = async (): Promise<void> => {
    await attempt(hidden, "remove", unless(["ENOENT"], disk.unlink(hidden)));
  };
  try {
    await attempt(hidden, "write", write(folder, hidden, await textOf(outcome, finishedAt)));
  } catch (error) {
    await discard().catch(() => {});
    throw error;
  }
  return {
    discard,
    async isFree(name) {
      const path = folder.fileIn(place, name + OUTCOME_SUFFIX);
      return (await attempt(path, "look at", unless(["ENOENT"], disk.lstat(path)))) === undefined;
    },
    async putBeside(name) {
      const path = folder.fileIn(place, name + OUTCOME_SUFFIX);
      await attempt(path, "rename", disk.rename(hidden, path));
      await attempt(path, "sync", syncDirectory(disk, folder.fileIn(place)));
    },
  };
}

async function textOf(
  { outcome, summary, details, artifacts, error }: WorkOutcome,
  finishedAt: Date,
): Promise<string> {
  const { stringify } = await import("yaml");
  return stringify({ outcome, summary, details, artifacts, error, finished_at: finishedAt.toISOString() });
}

async function write({ disk }: WorkFolder, path: string, text: string): Promise<void> {
  const bytes = Buffer.from(text);
  const handle = await disk.open(path, "wx", 0o600);
  try {
    await handle.writeFile(bytes);
    await handle.sync();
    const { size } = await handle.stat();
    if (size !== bytes.length) throw new Error(`${size} of ${bytes.length} bytes were kept`);
  } finally {
    await closeQuietly(handle);
  }
}
