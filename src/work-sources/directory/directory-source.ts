/**
 * Work items as files in a directory that any number of processes share. A claim is a rename into `working`, which only
 * one process can win. The new name has the claim's expiry: after it, any process may move the file back.
 */
import { resolve } from "node:path";
import type { Clock } from "../../clock.js";
import { messageOf, quote } from "../../errors.js";
import type { Logger } from "../../logger.js";
import { randomToken } from "../../random.js";
import { type Disk, nodeDisk, unless } from "../../state/file/disk.js";
import { AsyncLock } from "../../async-lock.js";
import { type ClaimedName, claimedName, isIgnored, isItemName, readClaimedName } from "./claim-name.js";
import { FileWarnings } from "./file-warnings.js";
import { attempt } from "./disk-fault.js";
import { writeOutcome } from "./outcome-file.js";
import { idOf, ReadyFiles, readWork } from "./ready-files.js";
import { type OtherLink, WorkFolder } from "./work-folder.js";
import { claimExpiryMs, invalidSource, requireKnownKeys } from "../source-config.js";
import type {
  FetchOptions,
  WorkClaim,
  WorkItem,
  WorkOutcome,
  WorkSourceAdapter,
  WorkSourceConfig,
} from "../work-source.js";

export interface DirectorySourceOptions {
  readonly path: string;
  readonly claimExpiryMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly disk?: Disk | undefined;
}

/** A claim of this adapter. */
interface HeldFile {
  claimed: ClaimedName;
  hasEnded: boolean;
  /** A renewal renames the file: no other call may use the old name meanwhile. */
  readonly lock: AsyncLock;
}

/** How long a process may take to move an expired file back, before a different process does it. */
const LONGEST_RETURN_MS = 60_000;

export class DirectorySource implements WorkSourceAdapter {
  readonly #folder: WorkFolder;
  readonly #clock: Clock;
  readonly #claimExpiryMs: number;
  readonly #warnings: FileWarnings;
  readonly #ready: ReadyFiles;
  readonly #held = new Map<string, HeldFile>();
  readonly #beingClaimed = new Set<string>();

  constructor({ path, claimExpiryMs: expiryMs, clock, logger, disk = nodeDisk }: DirectorySourceOptions) {
    this.#folder = new WorkFolder(resolve(path), disk);
    this.#clock = clock;
    this.#claimExpiryMs = expiryMs;
    this.#warnings = new FileWarnings(logger);
    this.#ready = new ReadyFiles(this.#folder, this.#warnings);
  }

  async fetchAvailableWork(options: FetchOptions = {}): Promise<readonly WorkItem[]> {
    await this.#folder.prepare();
    const inUse = await this.#returnExpired(options.signal);
    return this.#ready.first(options, (name) => inUse.has(name));
  }

  async claimWork(id: string): Promise<WorkClaim> {
    const name = this.#nameOf(id);
    if (name === undefined) return { isClaimed: false, reason: "gone" };
    if (this.#beingClaimed.has(name) || this.#isHeld(name)) return { isClaimed: false, reason: "taken" };
    this.#beingClaimed.add(name);
    try {
      return await this.#claim(name);
    } finally {
      this.#beingClaimed.delete(name);
    }
  }

  async renewWork(id: string): Promise<boolean> {
    return this.#withHeld(id, async (held) => {
      const renewed = { ...held.claimed, expiresMs: this.#expiryMs(this.#claimExpiryMs) };
      const isHeld = await this.#folder.rename(this.#working(held.claimed), this.#working(renewed));
      if (isHeld) held.claimed = renewed;
      else this.#end(held);
      return isHeld;
    });
  }

  async completeWork(id: string, outcome: WorkOutcome): Promise<boolean> {
    return this.#withHeld(id, async (held) => {
      await this.#folder.prepare();
      const written = await writeOutcome(this.#folder, outcome, this.#clock.now());
      const subfolder = outcome.outcome === "success" ? "done" : "failed";
      let name: string | undefined;
      try {
        const { claimed } = held;
        const isFree = (free: string): Promise<boolean> => written.isFree(free);
        name = await this.#folder.move(this.#working(claimed), subfolder, claimed.name, { isFree });
      } finally {
        if (name === undefined) await written.discard();
      }
      this.#end(held);
      if (name !== undefined) await written.putBeside(name);
      return name !== undefined;
    });
  }

  /** Ignores the reason: a directory has no place for it. */
  async releaseWork(id: string): Promise<boolean> {
    return this.#withHeld(id, async (held) => {
      await this.#folder.prepare();
      const { claimed } = held;
      // From then on a different adapter may claim it.
      const onPlaced = (): void => this.#end(held);
      const name = await this.#folder.move(this.#working(claimed), "ready", claimed.name, { onPlaced });
      this.#end(held);
      return name !== undefined;
    });
  }

  async getWork(id: string): Promise<WorkItem | undefined> {
    const name = this.#nameOf(id);
    if (name === undefined) return undefined;
    await this.#folder.prepare();
    const claimed = await this.#claimOf(name);
    const places = [
      ["working", claimed],
      ["ready", name],
      ["done", name],
      ["failed", name],
    ] as const;
    for (const [subfolder, file] of places) {
      const item = file === undefined ? undefined : await readWork(this.#folder, subfolder, name, file);
      if (item !== undefined && !("problem" in item)) return item;
    }
    return undefined;
  }

  async #claim(name: string): Promise<WorkClaim> {
    await this.#folder.prepare();
    const from = this.#folder.fileIn("ready", name);
    const stats = await attempt(from, "look at", unless(["ENOENT"], this.#folder.disk.lstat(from)));
    if (stats?.isFile() === false) return { isClaimed: false, reason: "gone" };
    const claimed = { name, token: randomToken(), expiresMs: this.#expiryMs(this.#claimExpiryMs) };
    if (stats === undefined || !(await this.#folder.rename(from, this.#working(claimed))))
      return { isClaimed: false, reason: (await this.#claimOf(name)) === undefined ? "gone" : "taken" };
    const item = await readWork(this.#folder, "working", name, claimedName(claimed));
    if (item === undefined || "problem" in item) {
      // The next fetch warns about the file in `ready`.
      await this.#folder.move(this.#working(claimed), "ready", name);
      return { isClaimed: false, reason: "gone" };
    }
    this.#held.set(name, { claimed, hasEnded: false, lock: new AsyncLock() });
    return { isClaimed: true, item, expiresAt: new Date(claimed.expiresMs) };
  }

  /** Moves files with expired claims back, and returns the names of the items with valid claims. */
  async #returnExpired(signal: AbortSignal | undefined): Promise<ReadonlySet<string>> {
    const inUse = new Set<string>();
    for (const file of await this.#folder.list("working")) {
      signal?.throwIfAborted();
      if (file !== undefined && isIgnored(file)) continue;
      const claimed = file === undefined ? undefined : readClaimedName(file);
      if (claimed === undefined)
        this.#warnings.warn(
          this.#folder.fileIn("working", file ?? "a name"),
          "does not have the name of a claimed file",
        );
      else if (claimed.expiresMs > this.#clock.now().getTime() || !(await this.#moveBack(claimed)))
        inUse.add(claimed.name);
    }
    return inUse;
  }

  /** Returns `false` for a file that stays in `working`, or that a different process moves. */
  async #moveBack(expired: ClaimedName): Promise<boolean> {
    const expiresMs = this.#expiryMs(Math.min(this.#claimExpiryMs, LONGEST_RETURN_MS));
    const returning = { ...expired, expiresMs };
    const path = this.#working(returning);
    try {
      if (!(await this.#folder.rename(this.#working(expired), path))) return false;
      const link = await this.#folder.otherLinkOf(path);
      if (link === undefined) await this.#folder.move(path, "ready", expired.name);
      else if (mayRemove(expired, link)) await this.#folder.disk.unlink(path);
      return link === undefined;
    } catch (error) {
      this.#warnings.warn(this.#working(expired), `could not be moved back: ${messageOf(error)}`);
      return false;
    }
  }

  /** The name of a claimed item's file in `working`; `undefined` for an item without a claim. */
  async #claimOf(name: string): Promise<string | undefined> {
    const files = await this.#folder.list("working");
    return files.find((file) => file !== undefined && readClaimedName(file)?.name === name);
  }

  /** Returns `false` for an item that this adapter does not hold. */
  async #withHeld(id: string, act: (held: HeldFile) => Promise<boolean>): Promise<boolean> {
    const held = this.#held.get(this.#nameOf(id) ?? "");
    if (held === undefined) return false;
    return held.lock.take(async () => !held.hasEnded && (await act(held)));
  }

  #end(held: HeldFile): void {
    held.hasEnded = true;
    const { name } = held.claimed;
    if (this.#held.get(name) === held) this.#held.delete(name);
  }

  #isHeld(name: string): boolean {
    const held = this.#held.get(name);
    return held !== undefined && held.claimed.expiresMs > this.#clock.now().getTime();
  }

  #expiryMs(ms: number): number {
    return this.#clock.now().getTime() + ms;
  }

  #working(claimed: ClaimedName): string {
    return this.#folder.fileIn("working", claimedName(claimed));
  }

  #nameOf(id: string): string | undefined {
    const prefix = idOf(this.#folder, "");
    const name = id.startsWith(prefix) ? id.slice(prefix.length) : "";
    return isItemName(name) ? name : undefined;
  }
}

/** Of two claims on one file the one with the smaller token is removed, so that never both are. */
function mayRemove({ token }: ClaimedName, { subfolder, name }: OtherLink): boolean {
  const other = subfolder === "working" ? readClaimedName(name)?.token : undefined;
  return other === undefined || token < other;
}

/** `{ type: "directory", path, claim_expiry }`. */
export function createDirectorySource(
  config: WorkSourceConfig,
  { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
): WorkSourceAdapter {
  requireKnownKeys(config, ["path", "claim_expiry"]);
  const { path } = config;
  if (typeof path !== "string" || path === "" || path.includes("\0"))
    throw invalidSource(
      `The path of a work source of type "directory" is ${path === undefined ? "missing" : quote(path)}, expected the path of a directory.`,
    );
  return new DirectorySource({ path, claimExpiryMs: claimExpiryMs(config), clock, logger });
}
