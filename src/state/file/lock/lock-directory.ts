/**
 * A lock between processes: a directory that is held by the one file in it. Renaming a directory onto a second one
 * only works while that is empty, so one process wins. Removing the file frees the lock and fences its holder off:
 * every later operation of the holder on the file fails.
 */
import type { FileHandle } from "node:fs/promises";
import { basename, join } from "node:path";
import { type Clock, wakeAfter } from "../../../clock.js";
import { randomToken, systemRandom } from "../../../random.js";
import { attempt, closeQuietly, type Disk, errorCode, failureAmong, removeQuietly, unless } from "../disk.js";
import { StateFileError } from "../../errors.js";
import {
  isSurelyRunning,
  lifeOf,
  type ProcessIdentity,
  processSignature,
  signerOf,
} from "./process-identity.js";

export interface LockOptions {
  readonly disk: Disk;
  /** Measures the silence of a holder: other processes live in real time. */
  readonly clock: Clock;
  /** The directory that is the lock. */
  readonly path: string;
  /** Says in the name of the lock's file which process holds it. @default this one's */
  readonly signature?: string | undefined;
  /** What the file of the lock says. */
  readonly content?: string | undefined;
  /**
   * Called when the present holder has given a sign of life, or is silent although its process runs here; may throw to
   * give up waiting.
   */
  readonly onHeld?: ((file: string) => Promise<void>) | undefined;
  /**
   * Set where a holder must not lose the lock because it is busy: a process that runs on this machine keeps it however
   * long it is silent, and one that is stopped, or that may be a different process with its pid, keeps it for this long.
   * The content of such a lock is not empty: an empty file is one that its holder could not remove.
   */
  readonly leaseMs?: number | undefined;
}

export interface HeldLock {
  /** The file that is the lock; gone when the lock was lost. */
  readonly file: string;
  /**
   * Open for reading and writing. A caller that moves the file keeps the handle open; every other caller closes it.
   */
  readonly handle: FileHandle;
}

/**
 * How long a holder that is not known to be alive can go without a sign of life before it loses its lock. No process
 * should wait 5 s.
 */
const LONGEST_SILENCE_MS = 4_300;
/** Two in any silence, and seldom: waking up is most of what an idle scheduler costs. */
const SIGN_OF_LIFE_MS = 2_100;
/**
 * A process that is awake anyway after this long gives the sign then: with a check every second, at every second
 * check.
 */
const SHORTEST_REST_MS = 1_500;
/** How a rename onto the lock fails: two codes for a lock that is held, one for a prepared directory that is gone. */
const NOT_TAKEN: ReadonlySet<string> = new Set(["ENOTEMPTY", "EEXIST", "ENOENT"]);
const LONGEST_PAUSE_MS = 20;

/** Waits until the lock is free, or its holder is dead or silent, and takes it. */
export async function takeLock(options: LockOptions): Promise<HeldLock> {
  const { disk, path, clock } = options;
  let watch: HolderWatch | undefined;
  let prepared = await prepare(options);
  try {
    for (let pauseMs = 1; ; pauseMs = Math.min(pauseMs * 1.5, LONGEST_PAUSE_MS)) {
      const moving = disk.rename(prepared.directory, path);
      const failure = await attempt(path, "lock", failureAmong(NOT_TAKEN, moving));
      if (failure === undefined) return { file: join(path, prepared.name), handle: prepared.handle };
      if (failure === "ENOENT") {
        // A second process took the prepared directory for a leftover.
        await closeQuietly(prepared.handle);
        prepared = await prepare(options);
      } else {
        watch ??= new HolderWatch(options);
        if (!(await watch.freed())) await clock.sleep(pauseMs * (0.5 + systemRandom()));
      }
    }
  } catch (error) {
    await closeQuietly(prepared.handle);
    await clearAway(disk, prepared.directory);
    throw error;
  }
}

/** Shows that the holder of a lock lives, until it is ended or the lock is lost. */
export class SignOfLife {
  readonly #file: string;
  readonly #options: Pick<LockOptions, "clock" | "disk">;
  readonly #onLost: () => void;
  #isEnded = false;
  #callOff: () => void = () => {};
  /** When the rest began that ends with the next sign. */
  #restsSinceMs = Infinity;

  constructor(
    { file }: HeldLock,
    options: Pick<LockOptions, "clock" | "disk">,
    onLost: () => void = () => {},
  ) {
    this.#file = file;
    this.#options = options;
    this.#onLost = onLost;
    this.#rest();
  }

  end(): void {
    this.#isEnded = true;
    this.#callOff();
  }

  /** To be called by a process that is awake: it gives the next sign now, if that is not far off. */
  showEarly(): void {
    const restedMs = this.#options.clock.monotonic() - this.#restsSinceMs;
    if (restedMs < SHORTEST_REST_MS) return;
    this.#callOff();
    void this.#show();
  }

  #rest(): void {
    this.#restsSinceMs = this.#options.clock.monotonic();
    this.#callOff = wakeAfter(this.#options.clock, SIGN_OF_LIFE_MS, () => void this.#show());
  }

  async #show(): Promise<void> {
    const { clock, disk } = this.#options;
    this.#restsSinceMs = Infinity;
    try {
      await disk.utimes(this.#file, clock.now(), clock.now());
    } catch (error) {
      // Any other failure may pass, and other processes judge by silence.
      if (errorCode(error) === "ENOENT" && !this.#isEnded) return this.#onLost();
    }
    if (!this.#isEnded) this.#rest();
  }
}

/** Gives the lock back. */
export async function releaseLock(disk: Disk, { file, handle }: HeldLock): Promise<void> {
  await closeQuietly(handle);
  await removeQuietly(disk, file);
}

/** Removes what processes that died left behind while they prepared to take a lock. */
export async function sweepPrepared(disk: Disk, directory: string, lock: string): Promise<void> {
  const prefix = `${basename(lock)}-`;
  for (const name of await disk.readdir(directory)) {
    const signer = name.startsWith(prefix) ? signerOf(name.slice(prefix.length)) : undefined;
    if (signer === undefined || lifeOf(signer) === "alive") continue;
    await disk.rm(join(directory, name), { recursive: true, force: true });
  }
}

interface PreparedLock {
  readonly directory: string;
  readonly name: string;
  readonly handle: FileHandle;
}

/** A directory of our own with our file in it, ready to become the lock. */
async function prepare(options: LockOptions): Promise<PreparedLock> {
  const { disk, path, content, signature = processSignature() } = options;
  const name = `${signature}-${randomToken()}`;
  const directory = `${path}-${name}`;
  let handle: FileHandle | undefined;
  try {
    await disk.mkdir(directory, 0o700);
    await disk.chmod(directory, 0o700); // whatever the umask
    handle = await disk.open(join(directory, name), "wx+", 0o600);
    await handle.chmod(0o600);
    if (content !== undefined) await handle.writeFile(content);
    return { directory, name, handle };
  } catch (error) {
    if (handle !== undefined) await closeQuietly(handle);
    await clearAway(disk, directory);
    throw new StateFileError(directory, "create", error);
  }
}

/** What cannot be removed now is swept when this process has ended. */
async function clearAway(disk: Disk, directory: string): Promise<void> {
  try {
    await disk.rm(directory, { recursive: true, force: true });
  } catch {}
}

/** The last sign of life of a file's owner, and when it was first seen. */
interface SeenSign {
  readonly sign: string;
  readonly isEmpty: boolean;
  readonly seenMs: number;
}

/** Watches the holders of a lock, and frees it from dead and silent ones. */
class HolderWatch {
  readonly #options: LockOptions;
  /** By file: for a moment a holder has two of them, and a holder that lost the lock may leave a file behind. */
  #seen: ReadonlyMap<string, SeenSign> = new Map();
  /** The file of a holder that runs here and has been silent for so long that any other holder would lose the lock. */
  #busy: string | undefined;

  constructor(options: LockOptions) {
    this.#options = options;
  }

  /** Whether the lock may be free by now. */
  async freed(): Promise<boolean> {
    const { path, onHeld } = this.#options;
    const seen = await attempt(path, "lock", this.#look());
    const stirring = [...seen.keys()].find((file) => seen.get(file) !== this.#seen.get(file));
    const live = this.#seen.size === 0 ? undefined : (stirring ?? this.#busy);
    this.#seen = seen;
    if (live !== undefined) await onHeld?.(live);
    return seen.size === 0;
  }

  /** The signs of holders that may be alive; the files of dead holders are removed. */
  async #look(): Promise<Map<string, SeenSign>> {
    const { disk, path, clock } = this.#options;
    const seen = new Map<string, SeenSign>();
    this.#busy = undefined;
    for (const name of (await unless(["ENOENT"], disk.readdir(path))) ?? []) {
      const file = join(path, name);
      const signer = signerOf(name.split(".", 1)[0] ?? "");
      const isDead = signer !== undefined && lifeOf(signer) === "dead";
      const last = isDead ? undefined : await this.#signOf(file);
      const silentMs = last === undefined ? Infinity : clock.monotonic() - last.seenMs;
      const isKept = last?.isEmpty === false && silentMs >= LONGEST_SILENCE_MS;
      const patienceMs = isKept ? this.#patienceWith(signer) : LONGEST_SILENCE_MS;
      if (last !== undefined && silentMs < patienceMs) {
        seen.set(file, last);
        if (patienceMs === Infinity) this.#busy = file;
      } else await unless(["ENOENT"], disk.unlink(file));
    }
    return seen;
  }

  /** How long a silent holder keeps the lock. */
  #patienceWith(signer: ProcessIdentity | undefined): number {
    const { leaseMs } = this.#options;
    if (leaseMs === undefined || signer === undefined || lifeOf(signer) !== "alive")
      return LONGEST_SILENCE_MS;
    return isSurelyRunning(signer) ? Infinity : Math.max(leaseMs, LONGEST_SILENCE_MS);
  }

  /** `undefined` when the file is gone. */
  async #signOf(file: string): Promise<SeenSign | undefined> {
    const { disk, clock } = this.#options;
    const stats = await unless(["ENOENT"], disk.lstat(file));
    if (stats === undefined) return undefined;
    const sign = `${stats.mtimeMs} ${stats.size}`;
    const known = this.#seen.get(file);
    return known?.sign === sign ? known : { sign, isEmpty: stats.size === 0, seenMs: clock.monotonic() };
  }
}
