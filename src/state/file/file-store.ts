/**
 * The store for one machine: schedule state in `<stateDir>/state.yaml`, jobs in `<stateDir>/jobs`.
 * Reads come from memory, changes are committed in groups; how the file is read, written and locked is decided below.
 */
import { type AgentPause, type PauseDecision, readPause } from "../agent-pause.js";
import type { Duration } from "../../duration.js";
import { join, resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { type Clock, StoreClock, systemClock } from "../../clock.js";
import { messageOf } from "../../errors.js";
import { type Logger, processLogger } from "../../logger.js";
import { NO_FIELDS } from "../validate-state.js";
import { type Disk, makePrivateDirectory, nodeDisk } from "./disk.js";
import { StateError } from "../errors.js";
import { FileJobLog } from "./jobs/file-job-log.js";
import type { JobLimits, JobLog } from "../job-log/job-log.js";
import { type FleetState, fleetOf, newFleet } from "./fleet-state.js";
import { GroupCommit } from "../../group-commit.js";
import { FileMailbox } from "./mailbox/file-mailbox.js";
import { readOwner } from "./lock/state-owner.js";
import { OwnerLock } from "./lock/owner-lock.js";
import { SCHEDULE_KEYS, type ScheduleState } from "../schedule-state.js";
import { agentEntry, DocumentDraft, renderDocument, type StateDocument } from "./yaml/state-document.js";
import { StateFile } from "./state-file.js";
import type { OutsideChange, ScheduleKey } from "../store.js";
import type { StateOperation } from "../operations.js";
import { Upkeep } from "../upkeep.js";
import { SingleOwnerStore } from "../owner/single-owner-store.js";

export interface FileStoreOptions {
  /** Made if it is missing, for its owner only. */
  readonly stateDir: string;
  /**
   * The file in it that holds the state.
   * @default "state.yaml"
   */
  readonly fileName?: string | undefined;
  /** @default that of who opens it, else the system's */
  readonly clock?: Clock | undefined;
  /**
   * Logs damage.
   * @default Node's process warnings
   */
  readonly logger?: Logger | undefined;
  /**
   * How long a claim lasts that is not renewed: milliseconds, or text such as "30s".
   * @default 30_000
   */
  readonly leaseMs?: Duration | undefined;
  /**
   * A larger state file is set aside unread.
   * @default 64_000_000
   */
  readonly maxStateBytes?: number | undefined;
  /** How much is kept of jobs. */
  readonly jobs?: JobLimits | undefined;
  /** @deprecated Use `jobs.maxAgeDays`. */
  readonly maxJobAgeDays?: number | undefined;
  /** @deprecated Use `jobs.keep`, or `jobs.maxJobs`. */
  readonly maxJobs?: number | undefined;
  /** @deprecated Use `jobs.maxOutputBytes`. */
  readonly maxOutputBytes?: number | undefined;
}

/** Replaced in tests. */
export interface FileStoreWorld {
  readonly disk?: Disk | undefined;
  /** The time in which other processes live, which a store's own clock need not show. */
  readonly realClock?: Clock | undefined;
}

const DEFAULT_MAX_STATE_BYTES = 64_000_000;

/** Also usable without `open`, as a guest beside an owner: then it reads and updates, and claims nothing. */
export class FileStore extends SingleOwnerStore {
  readonly jobs: JobLog;
  readonly mailbox: FileMailbox;
  protected readonly log: FileJobLog;
  readonly #clock: StoreClock;
  readonly #stateDir: string;
  readonly #disk: Disk;
  /** Whether it was made with a clock; otherwise `open` gives it one. */
  readonly hasOwnClock: boolean;
  readonly #realClock: Clock;
  readonly #logger: Logger;
  readonly #file: StateFile;
  readonly #commits = new GroupCommit<StateOperation>((batch) => this.#write(batch));
  #owner: OwnerLock | undefined;
  #upkeep: Upkeep | undefined;
  #opening: Promise<void> | undefined;
  #closing: Promise<void> | undefined;

  constructor(options: FileStoreOptions, world: FileStoreWorld = {}) {
    const { logger = processLogger } = options;
    const clock = new StoreClock(options.clock);
    // The same place, wherever the process goes.
    const stateDir = resolve(options.stateDir);
    const { disk = nodeDisk, realClock = systemClock } = world;
    super({ clock, logger, leaseMs: options.leaseMs });
    this.#clock = clock;
    this.hasOwnClock = options.clock !== undefined;
    this.#stateDir = stateDir;
    this.#disk = disk;
    this.#logger = logger;
    this.#realClock = realClock;
    this.#file = new StateFile({
      path: join(stateDir, options.fileName ?? "state.yaml"),
      disk,
      clock,
      realClock,
      logger,
      maxBytes: options.maxStateBytes ?? DEFAULT_MAX_STATE_BYTES,
      onOutsideChange: (before, after) => {
        this.noteOutsidePauses(changedPauses(before, after));
        this.noteOutsideChanges(changedSchedules(before, after));
      },
      onLoss: () => void this.#writeAgain(),
      checkOwner: async () => this.#owner?.check(),
    });
    this.log = new FileJobLog({
      directory: join(stateDir, "jobs"),
      clock,
      disk,
      logger,
      maxAgeDays: options.maxJobAgeDays,
      maxJobs: options.maxJobs,
      maxOutputBytes: options.maxOutputBytes,
      ...options.jobs,
      // A process beside the owner does not know the limits of the owner.
      mayPrune: async () =>
        this.#owner !== undefined || (await readOwner(stateDir, realClock.now()))?.isAlive !== true,
    });
    this.jobs = this.log;
    this.mailbox = new FileMailbox({ stateDir, disk, clock, realClock, logger });
  }

  open(clock?: Clock): Promise<void> {
    this.#opening ??= this.#openAfter(this.#closing, clock);
    this.#closing = undefined;
    return this.#opening;
  }

  close(): Promise<void> {
    this.#closing ??= this.#closeAfter(this.#opening);
    this.#opening = undefined;
    return this.#closing;
  }

  /** The whole file, as a plain object. */
  async readFleet(): Promise<FleetState> {
    await this.refresh();
    return fleetOf(this.#file.document);
  }

  /** Replaces the whole content of the file by `fleet`. Durable when it resolves. */
  async writeFleet(fleet: FleetState): Promise<void> {
    this.#requireOpen();
    const next = newFleet(fleet);
    let before: StateDocument | undefined;
    await this.#file.change(async (document) => {
      await this.#owner?.check();
      before = document;
      return next;
    });
    if (before === undefined) return;
    for (const [agent, pause] of changedPauses(before, this.#file.document)) this.notePause(agent, pause);
    this.noteChanges(changedSchedules(before, this.#file.document));
  }

  /** Removes a schedule from the file; `false` when a job of it runs, or the file does not have it. Durable when it resolves. */
  async forget({ agent, schedule }: ScheduleKey): Promise<boolean> {
    this.#requireOpen();
    let before: StateDocument | undefined;
    await this.#file.change(async (document) => {
      await this.#owner?.check();
      const entry = document.agents.get(agent);
      const state = entry?.schedules.get(schedule);
      before = undefined;
      if (entry === undefined || state === undefined || state.claim != null) return undefined;
      before = document;
      const agents = new Map(document.agents);
      const schedules = new Map(entry.schedules);
      schedules.delete(schedule);
      if (schedules.size === 0 && Object.keys(entry.other).length === 0) agents.delete(agent);
      else agents.set(agent, agentEntry({ ...entry, schedules }));
      const next = { ...document, agents };
      return { bytes: renderDocument(next), document: next, changed: new Map() };
    });
    if (before !== undefined) this.noteChanges([{ agent, schedule }]);
    return before !== undefined;
  }

  /** Lets go of the file until the next call, which costs more then. For a guest that may never be asked again. */
  async rest(): Promise<void> {
    await this.#commits.settled();
    await this.#file.rest();
  }

  /** Costs one `stat` while the file stays the same. */
  protected refresh(): Promise<void> {
    this.#requireOpen();
    this.#owner?.stir();
    return this.#file.refresh();
  }

  protected known({ agent, schedule }: ScheduleKey): Partial<ScheduleState> {
    return this.#file.document.agents.get(agent)?.schedules.get(schedule) ?? NO_FIELDS;
  }

  protected knownSchedules(agent: string): Iterable<readonly [string, Partial<ScheduleState>]> {
    return this.#file.document.agents.get(agent)?.schedules ?? [];
  }

  protected *knownKeys(): Iterable<ScheduleKey> {
    for (const { name: agent, schedules } of this.#file.document.agents.values())
      for (const schedule of schedules.keys()) yield { agent, schedule };
  }

  protected *knownPauses(): Iterable<readonly [string, AgentPause]> {
    for (const { name, other } of this.#file.document.agents.values()) {
      const pause = readPause(other["pause"]);
      if (pause !== undefined) yield [name, pause];
    }
  }

  protected async writePause(agent: string, decide: PauseDecision): Promise<void> {
    this.#requireOpen();
    let written: AgentPause | null | undefined;
    await this.#file.change(async (document) => {
      await this.#owner?.check();
      const known = document.agents.get(agent) ?? { other: NO_FIELDS, schedules: new Map() };
      const { other, schedules } = known;
      written = decide(readPause(other["pause"]));
      if (written === undefined) return undefined;
      const { pause: _, ...rest } = other;
      const entry = { name: agent, schedules, other: written === null ? rest : { ...rest, pause: written } };
      const changed = new Map([[agent, agentEntry(entry)]]);
      return { bytes: renderDocument(document, changed), document, changed };
    });
    if (written !== undefined) this.notePause(agent, written ?? undefined);
  }

  protected commit(operation: StateOperation): Promise<void> {
    this.#requireOpen();
    return this.#commits.add(operation);
  }

  protected get isOwner(): boolean {
    return this.#owner !== undefined;
  }

  protected requireOwner(): void {
    if (this.#owner === undefined || this.#closing !== undefined) throw notOpen(this.#stateDir);
    this.#owner.requireHeld();
  }

  async #openAfter(closing: Promise<void> | undefined, given: Clock | undefined): Promise<void> {
    await closing?.catch(() => {});
    if (process.platform === "win32")
      throw new StateError(
        "Files are not supported on Windows, where a rename does not follow the POSIX rules: use WSL, or a PostgresStore.",
        { code: "UNSUPPORTED_SYSTEM" },
      );
    try {
      this.#clock.adopt(given);
      await makePrivateDirectory(this.#disk, this.#stateDir);
      const lock = join(this.#stateDir, "owner.lock");
      this.#owner = await OwnerLock.take(this.#disk, lock, this.#realClock, this.leaseMs);
      const { takenFrom: gone } = this.#owner;
      if (gone !== undefined)
        this.#logger.warn(
          `Took over ${this.#stateDir} from process ${gone.pid} on ${gone.host}, which did not give it back.`,
        );
      await this.#file.own();
      this.log.reopen();
      await this.recover();
      await this.log.recover();
      const { background: clock } = this.#clock;
      this.#upkeep = new Upkeep({ clock, logger: this.#logger, task: () => this.#tidy() });
      this.mailbox.open();
    } catch (error) {
      await this.#disown();
      this.#opening = undefined;
      throw error;
    }
  }

  /** Closes the records of jobs that no claim belongs to, and removes old jobs. */
  async #tidy(): Promise<void> {
    await this.log.recover(this.claimedJobs());
    await this.log.prune();
  }

  async #closeAfter(opening: Promise<void> | undefined): Promise<void> {
    await opening?.catch(() => {});
    await this.#upkeep?.stop();
    if (this.#owner !== undefined) await this.free((operation) => this.#commits.add(operation));
    await this.#commits.settled();
    try {
      await this.log.close();
    } finally {
      await this.#file.close();
      await this.#disown();
    }
  }

  async #disown(): Promise<void> {
    const owner = this.#owner;
    this.#owner = undefined;
    await owner?.release();
  }

  #requireOpen(): void {
    if (this.#closing !== undefined) throw notOpen(this.#stateDir);
  }

  /** Writes the file that was deleted or cut short. Does not reject: the next change writes it too. */
  async #writeAgain(): Promise<void> {
    try {
      await this.#commits.add({ apply: () => {} });
    } catch (error) {
      this.#logger.warn(`Could not write the state file of ${this.#stateDir} again: ${messageOf(error)}`);
    }
  }

  async #write(batch: readonly StateOperation[]): Promise<void> {
    let touched: readonly ScheduleKey[] = [];
    await this.#file.change(async (document, isDamaged) => {
      // Reading the lock from the disk and making the new text take place at the same time.
      const checked = this.#owner?.check();
      checked?.catch(() => {});
      const draft = new DocumentDraft(document);
      for (const operation of batch) operation.apply(draft);
      touched = draft.touched;
      // What was damaged is written again in any case, so that it is set aside.
      const next = draft.finish(isDamaged);
      await checked;
      return next;
    });
    this.noteChanges(touched);
  }
}

function notOpen(stateDir: string): StateError {
  return new StateError(`The store on ${stateDir} is not open.`, { code: "STATE_CLOSED" });
}

function changedPauses(
  before: StateDocument,
  after: StateDocument,
): (readonly [agent: string, pause: AgentPause | undefined])[] {
  const agents = new Set([...before.agents.keys(), ...after.agents.keys()]);
  return Array.from(agents).flatMap((agent) => {
    const [old, now] = [before.agents.get(agent)?.other["pause"], after.agents.get(agent)?.other["pause"]];
    return isDeepStrictEqual(old ?? null, now ?? null) ? [] : [[agent, readPause(now)] as const];
  });
}

function changedSchedules(before: StateDocument, after: StateDocument): OutsideChange[] {
  const changed: OutsideChange[] = [];
  for (const agent of new Set([...before.agents.keys(), ...after.agents.keys()])) {
    const old = before.agents.get(agent)?.schedules;
    const now = after.agents.get(agent)?.schedules;
    if (old === now) continue;
    for (const schedule of new Set([...(old?.keys() ?? []), ...(now?.keys() ?? [])])) {
      const keys = changedKeys(old?.get(schedule) ?? {}, now?.get(schedule) ?? {});
      if (keys.length > 0) changed.push({ agent, schedule, keys });
    }
  }
  return changed;
}

function changedKeys(before: Partial<ScheduleState>, after: Partial<ScheduleState>): (keyof ScheduleState)[] {
  return SCHEDULE_KEYS.filter((key) => !isDeepStrictEqual(before[key] ?? null, after[key] ?? null));
}
