/** Writes the outcome of an item to a file beside it: durably before the item is moved, and under its final name after. */
import { randomToken } from "../../random.js";
import { closeQuietly, syncDirectory, unless } from "../../state/file/disk.js";
import type { WorkOutcome } from "../work-source.js";
import { OUTCOME_SUFFIX } from "./claim-name.js";
import { attempt } from "./disk-fault.js";
import type { WorkFolder } from "./work-folder.js";

export interface WrittenOutcome {
  /** Whether there is no outcome yet of an item of the name. */
  isFree(name: string): Promise<boolean>;
  /** Renames the file so that it is beside the item. */
  putBeside(name: string): Promise<void>;
  discard(): Promise<void>;
}

/** Writes the outcome under a hidden name. A full disk fails here, while the item is still claimed. */
export async function writeOutcome(
  folder: WorkFolder,
  outcome: WorkOutcome,
  finishedAt: Date,
): Promise<WrittenOutcome> {
  const { disk } = folder;
  const subfolder = outcome.outcome === "success" ? "done" : "failed";
  const hidden = folder.fileIn(subfolder, `.${randomToken()}${OUTCOME_SUFFIX}.tmp`);
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
      const path = folder.fileIn(subfolder, name + OUTCOME_SUFFIX);
      return (await attempt(path, "look at", unless(["ENOENT"], disk.lstat(path)))) === undefined;
    },
    async putBeside(name) {
      const path = folder.fileIn(subfolder, name + OUTCOME_SUFFIX);
      await attempt(path, "rename", disk.rename(hidden, path));
      await attempt(path, "sync", syncDirectory(disk, folder.fileIn(subfolder)));
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
    if (size !== bytes.length) throw new Error(`only ${size} of ${bytes.length} bytes were written`);
  } finally {
    await closeQuietly(handle);
  }
}
