/**
 * Ownership of a state directory: one scheduler at a time. A dead one is replaced at once, a silent one of a different
 * machine within seconds, and one that runs on this machine never.
 */
import { isFields } from "../../../fields.js";
import { hostname } from "node:os";
import { dirname } from "node:path";
import type { Clock } from "../../../clock.js";
import { isoTimeMs } from "../../../iso-time.js";
import { attempt, type Disk, openRegular, unless } from "../disk.js";
import { StateLockedError, type StateOwner } from "../../errors.js";
import { type HeldLock, releaseLock, SignOfLife, sweepPrepared, takeLock } from "./lock-directory.js";

const TAKEN_OVER = "was taken over while this process gave no sign of life";

export class OwnerLock {
  readonly #disk: Disk;
  readonly #path: string;
  readonly #lock: HeldLock;
  readonly #alive: SignOfLife;
  #isLost = false;

  private constructor(disk: Disk, path: string, lock: HeldLock, clock: Clock) {
    this.#disk = disk;
    this.#path = path;
    this.#lock = lock;
    this.#alive = new SignOfLife(lock, { clock, disk }, () => {
      this.#isLost = true;
    });
  }

  /**
   * Throws a StateLockedError that says who holds the lock when its holder gives a sign of life, or runs here and is
   * busy. A holder that is stopped loses the lock after `leaseMs`: its claims have expired by then.
   */
  static async take(disk: Disk, path: string, clock: Clock, leaseMs: number): Promise<OwnerLock> {
    await attempt(path, "list", sweepPrepared(disk, dirname(path), path));
    const owner = { pid: process.pid, host: hostname(), since: clock.now() };
    const onHeld = async (file: string): Promise<void> => {
      throw lockedBy(path, await readOwner(disk, file), "is in use");
    };
    const content = `${JSON.stringify(owner)}\n`;
    const lock = await takeLock({ disk, clock, path, content, onHeld, leaseMs });
    return new OwnerLock(disk, path, lock, clock);
  }

  /** To be called while the process is awake, which saves a timer that shows that it lives. */
  stir(): void {
    if (!this.#isLost) this.#alive.showEarly();
  }

  /** Throws a StateLockedError when it is known that a second process took this one for dead. */
  requireHeld(): void {
    if (this.#isLost) throw lockedBy(this.#path, undefined, TAKEN_OVER);
  }

  /** Checks on disk whether a second process took this one for dead, and throws a StateLockedError if so. */
  async check(): Promise<void> {
    const stats = await attempt(this.#path, "stat", unless(["ENOENT"], this.#disk.lstat(this.#lock.file)));
    if (stats !== undefined) return;
    const [successor] = (await unless(["ENOENT"], this.#disk.readdir(this.#path))) ?? [];
    const owner =
      successor === undefined ? undefined : await readOwner(this.#disk, `${this.#path}/${successor}`);
    throw lockedBy(this.#path, owner, TAKEN_OVER);
  }

  async release(): Promise<void> {
    this.#alive.end();
    await releaseLock(this.#disk, this.#lock);
  }
}

function lockedBy(path: string, owner: StateOwner | undefined, what: string): StateLockedError {
  const who = owner && `, by process ${owner.pid} on ${owner.host} since ${owner.since.toISOString()}`;
  const advice = "Stop that one, or use another state directory.";
  return new StateLockedError(
    `The state directory ${dirname(path)} ${what}${who ?? ""}. ${advice}`,
    path,
    owner,
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
