/**
 * Work as files in a directory that any number of processes share. A claim is a rename into `working`, which only one
 * can win, under a name that says until when: whoever comes after that puts the file back.
 */
import { resolve } from "node:path";
import type { Clock } from "../../clock.js";
import { messageOf, quote } from "../../errors.js";
import type { Logger } from "../../logger.js";
import { randomToken } from "../../random.js";
import { type Disk, nodeDisk, unless } from "../../state/file/disk.js";
import { AsyncLock } from "../../async-lock.js";
import { type ClaimedName, claimedName, isIgnored, isItemName, readClaimedName } from "./claim-name.js";
import { Complaints } from "./file-warnings.js";
import { attempt } from "./disk-fault.js";
import { writeOutcome } from "./outcome-file.js";
import { idOf, ReadyFiles, readWork } from "./ready-files.js";
import { type Twin, WorkFolder } from "./work-folder.js";
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
  /** A renewal gives the file another name: nothing else may look for it meanwhile. */
  readonly turns: AsyncLock;
}

/** How long a file may take on its way back; after that somebody else sees to it. */
const LONGEST_RETURN_MS = 60_000;

export class DirectorySource implements WorkSourceAdapter {
  readonly #folder: WorkFolder;
  readonly #clock: Clock;
  readonly #claimExpiryMs: number;
  readonly #complaints: Complaints;
  readonly #ready: ReadyFiles;
  readonly #held = new Map<string, HeldFile>();
  readonly #beingClaimed = new Set<string>();

  constructor({ path, claimExpiryMs: expiryMs, clock, logger, disk = nodeDisk }: DirectorySourceOptions) {
    this.#folder = new WorkFolder(resolve(path), disk);
    this.#clock = clock;
    this.#claimExpiryMs = expiryMs;
    this.#complaints = new Complaints(logger);
    this.#ready = new ReadyFiles(this.#folder, this.#complaints);
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
      const isHeld = await this.#folder.take(this.#working(held.claimed), this.#working(renewed));
      if (isHeld) held.claimed = renewed;
      else this.#end(held);
      return isHeld;
    });
  }

  async completeWork(id: string, outcome: WorkOutcome): Promise<boolean> {
    return this.#withHeld(id, async (held) => {
      await this.#folder.prepare();
      const written = await writeOutcome(this.#folder, outcome, this.#clock.now());
      const place = outcome.outcome === "success" ? "done" : "failed";
      let name: string | undefined;
      try {
        const { claimed } = held;
        const isFree = (free: string): Promise<boolean> => written.isFree(free);
        name = await this.#folder.move(this.#working(claimed), place, claimed.name, { isFree });
      } finally {
        if (name === undefined) await written.discard();
      }
      this.#end(held);
      if (name !== undefined) await written.putBeside(name);
      return name !== undefined;
    });
  }

  /** There is no place for a reason in a directory. */
  async releaseWork(id: string): Promise<boolean> {
    return this.#withHeld(id, async (held) => {
      await this.#folder.prepare();
      const { claimed } = held;
      // From then on it may be anybody's.
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
    for (const [place, file] of places) {
      const item = file === undefined ? undefined : await readWork(this.#folder, place, name, file);
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
    if (stats === undefined || !(await this.#folder.take(from, this.#working(claimed))))
      return { isClaimed: false, reason: (await this.#claimOf(name)) === undefined ? "gone" : "taken" };
    const item = await readWork(this.#folder, "working", name, claimedName(claimed));
    if (item === undefined || "problem" in item) {
      // Whoever looks at it next in its old place says what is wrong with it.
      await this.#folder.move(this.#working(claimed), "ready", name);
      return { isClaimed: false, reason: "gone" };
    }
    this.#held.set(name, { claimed, hasEnded: false, turns: new AsyncLock() });
    return { isClaimed: true, item, expiresAt: new Date(claimed.expiresMs) };
  }

  /** Puts back what nobody works on any more, and answers the names of what is being worked on. */
  async #returnExpired(signal: AbortSignal | undefined): Promise<ReadonlySet<string>> {
    const inUse = new Set<string>();
    for (const file of await this.#folder.list("working")) {
      signal?.throwIfAborted();
      if (file !== undefined && isIgnored(file)) continue;
      const claimed = file === undefined ? undefined : readClaimedName(file);
      if (claimed === undefined)
        this.#complaints.make(this.#folder.fileIn("working", file ?? "a name"), "was not claimed by anybody");
      else if (claimed.expiresMs > this.#clock.now().getTime() || !(await this.#putBack(claimed)))
        inUse.add(claimed.name);
    }
    return inUse;
  }

  /** Answers `false` for a file that stays where it is, or that somebody else puts back. */
  async #putBack(expired: ClaimedName): Promise<boolean> {
    const expiresMs = this.#expiryMs(Math.min(this.#claimExpiryMs, LONGEST_RETURN_MS));
    const returning = { ...expired, expiresMs };
    const path = this.#working(returning);
    try {
      if (!(await this.#folder.take(this.#working(expired), path))) return false;
      const twin = await this.#folder.twinOf(path);
      if (twin === undefined) await this.#folder.move(path, "ready", expired.name);
      else if (mayGo(expired, twin)) await this.#folder.disk.unlink(path);
      return twin === undefined;
    } catch (error) {
      this.#complaints.make(this.#working(expired), `could not be put back: ${messageOf(error)}`);
      return false;
    }
  }

  /** What a file of this name is called in `working`, if somebody has claimed it. */
  async #claimOf(name: string): Promise<string | undefined> {
    const files = await this.#folder.list("working");
    return files.find((file) => file !== undefined && readClaimedName(file)?.name === name);
  }

  /** Answers `false` without a claim of this adapter that lasts. */
  async #withHeld(id: string, act: (held: HeldFile) => Promise<boolean>): Promise<boolean> {
    const held = this.#held.get(this.#nameOf(id) ?? "");
    if (held === undefined) return false;
    return held.turns.take(async () => !held.hasEnded && (await act(held)));
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

/** Of two claims on one file the one with the lesser token goes, so that never both do. */
function mayGo({ token }: ClaimedName, { place, name }: Twin): boolean {
  const other = place === "working" ? readClaimedName(name)?.token : undefined;
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
      `The path of a work source of type "directory" is that of a directory; got ${quote(path)}.`,
    );
  return new DirectorySource({ path, claimExpiryMs: claimExpiryMs(config), clock, logger });
}
