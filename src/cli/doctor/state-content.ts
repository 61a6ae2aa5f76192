/** Checks the owner of a state directory, its write lock, its state file and its jobs. Reads only. */
import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import { messageOf } from "../../errors.js";
import { isoTimeMs } from "../../iso-time.js";
import type { Logger } from "../../logger.js";
import { FileStore } from "../../state/file/file-store.js";
import { unless } from "../../state/file/disk.js";
import { counted } from "../format/counted.js";
import { JobFiles } from "../../state/file/jobs/job-files.js";
import { type Owner, readOwner } from "../../state/file/lock/state-owner.js";
import { oneLine } from "../format/text-width.js";
import { relativeTime, shortDuration } from "../format/when.js";
import { failure, fine, type Finding, warning } from "./finding.js";
import { formatBytes } from "./state-directory.js";

/** A live owner writes a heartbeat every two seconds. */
const LONG_SILENCE_MS = 15_000;
const LONG_LOCK_MS = 15_000;
/** A time further in the future than this comes from a wrong clock. */
const AHEAD_MS = 60_000;
const MANY_BYTES = 1_000_000_000;

export async function checkStateContent(stateDir: string, now: Date): Promise<readonly Finding[]> {
  const owner = await readOwner(stateDir, now);
  return [
    judgeOwner(owner, now),
    ...(await checkWriteLock(stateDir, now)),
    ...(await checkStateFile(stateDir, now)),
    ...(await checkJobs(stateDir)),
  ];
}

export function judgeOwner(owner: Owner | undefined, now: Date): Finding {
  const about = "scheduler";
  if (owner === undefined) return fine(about, "not running");
  const who = `process ${owner.pid} on ${oneLine(owner.host)}`;
  const seen = relativeTime(owner.seenAt, now);
  const silentMs = now.getTime() - owner.seenAt.getTime();
  if (!owner.isAlive)
    return failure(
      about,
      `${who} is gone, last seen ${seen}: start it again, and it takes over what is left`,
    );
  if (silentMs > LONG_SILENCE_MS)
    return warning(
      about,
      `${who} exists but was last seen ${seen}: it is stopped, or a job blocks its event loop`,
    );
  if (silentMs < -AHEAD_MS)
    return warning(about, `${who} was last seen ${seen}: its clock and this one differ`);
  return fine(about, `${who}, last seen ${seen}`);
}

/** A writer holds the lock for milliseconds; a longer hold is worth a warning. */
async function checkWriteLock(stateDir: string, now: Date): Promise<readonly Finding[]> {
  const lock = join(stateDir, "state.yaml.lock");
  for (const name of (await unless(["ENOENT", "ENOTDIR"], readdir(lock))) ?? []) {
    const stats = await unless(["ENOENT"], lstat(join(lock, name)));
    const heldMs = stats === undefined ? 0 : now.getTime() - stats.mtimeMs;
    if (heldMs > LONG_LOCK_MS)
      return [
        warning(
          "write lock",
          `held for ${shortDuration(heldMs)}: its holder is gone or stopped, and the next writer takes it over`,
        ),
      ];
  }
  return [];
}

async function checkStateFile(stateDir: string, now: Date): Promise<readonly Finding[]> {
  const about = "state file";
  const { logger, complaints } = collectingLogger();
  try {
    const stats = await unless(["ENOENT"], lstat(join(stateDir, "state.yaml")));
    if (stats === undefined) return [fine(about, "none yet")];
    await using store = new FileStore({ stateDir, logger });
    const { agents } = await store.readFleet();
    const schedules = Object.values(agents).flatMap((agent) => Object.values(agent.schedules ?? {}));
    const ahead = schedules.filter(
      ({ last_run_at }) => (isoTimeMs(last_run_at) ?? 0) > now.getTime() + AHEAD_MS,
    );
    const size = `${formatBytes(stats.size)}, ${counted(schedules.length, "schedule")}`;
    return [
      complaints.length === 0 ? fine(about, size) : failure(about, complaints.map(oneLine).join(" ")),
      ...(ahead.length === 0
        ? []
        : [
            warning(
              about,
              `${counted(ahead.length, "schedule")} ran at a time in the future: the clock was set back`,
            ),
          ]),
    ];
  } catch (error) {
    return [failure(about, messageOf(error))];
  }
}

/** Collects the warnings and errors that reading the state logs. */
function collectingLogger(): { readonly logger: Logger; readonly complaints: readonly string[] } {
  const complaints: string[] = [];
  const complain = (message: string): void => void complaints.push(message);
  return { logger: { info: () => {}, warn: complain, error: complain }, complaints };
}

async function checkJobs(stateDir: string): Promise<readonly Finding[]> {
  const about = "jobs";
  const { logger, complaints } = collectingLogger();
  const files = new JobFiles(stateDir, logger);
  try {
    const { bytes, days, abandoned } = await files.tally();
    const size = `${formatBytes(bytes)} in ${counted(days, "day")}`;
    return [
      bytes > MANY_BYTES ? warning(about, `${size}: keep fewer days or shorter outputs`) : fine(about, size),
      ...(abandoned === 0
        ? []
        : [
            warning(
              about,
              `${abandoned} left running by processes that are gone: the next scheduler marks them interrupted`,
            ),
          ]),
      ...complaints.map((complaint) => warning(about, oneLine(complaint))),
    ];
  } catch (error) {
    return [failure(about, messageOf(error))];
  }
}
