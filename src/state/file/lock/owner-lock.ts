/**
 * Ownership of a state directory: one scheduler at a time. A dead one is replaced at once, a silent one of a different
 * machine within seconds, and one that runs on this machine never.
 */
import { isFields } from "../../../fields.js";
import { hostname } from "node:os";
import { dirname } from "node:path";
import type { Clock } from "../../../clock.js";
import { isoTimeMs } from "../../../iso-time.js";
import { attempt, closeQuietly, type Disk, openRegular, unless } from "../disk.js";
import { StateLockedError, type StateOwner } from "../../errors.js";
import { type HeldLock, SignOfLife, sweepPrepared, takeLock } from "./lock-directory.js";

const TAKEN_OVER = "was taken over while this process gave no sign of life";
const TAKEN_OVER_ADVICE = "Stop that one, or use another state directory.";
const DELETED = "was deleted while this process used it";
const DELETED_ADVICE =
  "Start this process again: it begins with an empty directory, unless you restore the old one first.";

export class OwnerLock {
  readonly #disk: Disk;
  readonly #path: string;
  readonly #lock: HeldLock;
  readonly #alive: SignOfLife;
  /** The owner that never gave the lock back: its process ended, or stood still for too long. */
  readonly takenFrom: StateOwner | undefined;
  /** Why the lock is lost, once that is known. */
  #loss: StateLockedError | undefined;

  private constructor(
    { disk, path, clock }: { readonly disk: Disk; readonly path: string; readonly clock: Clock },
    lock: HeldLock,
    takenFrom: StateOwner | undefined,
  ) {
    this.#disk = disk;
    this.#path = path;
    this.#lock = lock;
    this.takenFrom = takenFrom;
    this.#alive = new SignOfLife(lock, { clock, disk }, () => void this.#noteLoss());
  }

  /**
   * Throws a StateLockedError that says who holds the lock when its holder gives a sign of life, or runs here and is
   * busy. A holder that is stopped loses the lock after `leaseMs`: its claims have expired by then.
   */
  static async take(disk: Disk, path: string, clock: Clock, leaseMs: number): Promise<OwnerLock> {
    await attempt(path, "list", sweepPrepared(disk, dirname(path), path));
    const [left] = (await attempt(path, "list", unless(["ENOENT", "ENOTDIR"], disk.readdir(path)))) ?? [];
    const before = left === undefined ? undefined : await readOwner(disk, `${path}/${left}`);
    const owner = { pid: process.pid, host: hostname(), since: clock.now() };
    const onHeld = async (file: string): Promise<void> => {
      throw lockedBy(path, await readOwner(disk, file), "is in use");
    };
    const content = `${JSON.stringify(owner)}\n`;
    const lock = await takeLock({ disk, clock, path, content, onHeld, leaseMs });
    return new OwnerLock({ disk, path, clock }, lock, before);
  }

  /** To be called while the process is awake, which saves a timer that shows that it lives. */
  stir(): void {
    if (this.#loss === undefined) this.#alive.showEarly();
  }

  /** Throws a StateLockedError when it is known that the lock is lost. */
  requireHeld(): void {
    if (this.#loss !== undefined) throw this.#loss;
  }

  /** Checks on disk whether the lock is lost, and throws a StateLockedError that says why. */
  async check(): Promise<void> {
    const stats = await attempt(this.#path, "stat", unless(["ENOENT"], this.#disk.lstat(this.#lock.file)));
    if (stats === undefined) throw await this.#findLoss();
  }

  async release(): Promise<void> {
    this.#alive.end();
    const { file, handle } = this.#lock;
    try {
      await unless(["ENOENT"], this.#disk.unlink(file));
    } catch {
      // An empty file is not held, although the process that wrote it goes on.
      await handle.truncate().catch(() => {});
    }
    await closeQuietly(handle);
  }

  async #noteLoss(): Promise<void> {
    try {
      this.#loss = await this.#findLoss();
    } catch {
      this.#loss = lockedBy(this.#path, undefined, TAKEN_OVER);
    }
  }

  /** A process that takes the lock over removes its file, and never its directory. */
  async #findLoss(): Promise<StateLockedError> {
    const names = await attempt(this.#path, "list", unless(["ENOENT"], this.#disk.readdir(this.#path)));
    if (names === undefined) return lockedBy(this.#path, undefined, DELETED);
    const [successor] = names;
    const owner =
      successor === undefined ? undefined : await readOwner(this.#disk, `${this.#path}/${successor}`);
    return lockedBy(this.#path, owner, TAKEN_OVER);
  }
}

function lockedBy(path: string, owner: StateOwner | undefined, what: string): StateLockedError {
  const who = owner && `, by process ${owner.pid} on ${owner.host} since ${owner.since.toISOString()}`;
  const advice = what === DELETED ? DELETED_ADVICE : TAKEN_OVER_ADVICE;
  return new StateLockedError(
    `The state directory ${dirname(path)} ${what}${who ?? ""}. ${advice}`,
    path,
    owner,
    what === DELETED,
  );
}

async function readOwner(disk: Disk, file: string): Promise<StateOwner | undefined> {
  const handle = await openRegular(disk, file);
  if (handle === undefined) return undefined;
  try {
    const owner: unknown = JSON.parse(await handle.readFile("utf8"));
    if (!isFields(owner)) return undefined;
    const { pid, host, since } = owner;
    const sinceMs = isoTimeMs(since);
    if (typeof pid !== "number" || typeof host !== "string" || sinceMs === undefined) return undefined;
    return { pid, host, since: new Date(sinceMs) };
  } catch {
    return undefined;
  } finally {
    await handle.close();
  }
}
