/** A state directory on this machine: one scheduler owns it, and other processes read its files. */
import type { Clock } from "../../clock.js";
import type { Logger } from "../../logger.js";
import { readOwner } from "../../state/file/lock/state-owner.js";
import { FileStore } from "../../state/file/file-store.js";
import { JobFiles } from "../../state/file/jobs/job-files.js";
import type { ScheduleState } from "../../state/schedule-state.js";
import type { DueSlots, ScheduleKey } from "../../state/store.js";
import { failure, type Finding } from "../doctor/finding.js";
import { checkStateContent } from "../doctor/state-content.js";
import { checkStateDirectory } from "../doctor/state-directory.js";
import { refusedError } from "../errors.js";
import { shownPath } from "../format/shown-path.js";
import type {
  FleetStates,
  StateConnection,
  OpenState,
  StateLocation,
  ScheduleSet,
  SchedulerProcess,
  OpenOptions,
  ConnectOptions,
} from "./state-location.js";

const NOT_ON_WINDOWS =
  "A state directory is not supported on Windows: run Rota in WSL, or keep the state in PostgreSQL with --database-url";

export class DirectoryLocation implements StateLocation {
  readonly #stateDir: string;

  /** An absolute path, which need not exist yet. */
  constructor(stateDir: string) {
    this.#stateDir = stateDir;
  }

  get name(): string {
    return shownPath(this.#stateDir);
  }

  async connect({ clock, logger }: ConnectOptions): Promise<StateConnection> {
    if (process.platform === "win32") throw refusedError(NOT_ON_WINDOWS);
    return new DirectoryConnection(this.#stateDir, clock, logger);
  }

  async open({ clock, logger, jobs, isManualOnly = false }: OpenOptions): Promise<OpenState> {
    if (process.platform === "win32") throw refusedError(NOT_ON_WINDOWS);
    const Store = isManualOnly ? ManualOnlyStore : FileStore;
    return new OpenDirectory(new Store({ stateDir: this.#stateDir, clock, logger, jobs }), clock);
  }

  async check(clock: Clock): Promise<readonly Finding[]> {
    if (process.platform === "win32") return [failure("system", NOT_ON_WINDOWS)];
    const { findings, isUsable } = await checkStateDirectory(this.#stateDir);
    return isUsable ? [...findings, ...(await checkStateContent(this.#stateDir, clock.now()))] : findings;
  }
}

class OpenDirectory implements OpenState {
  readonly store: FileStore;
  readonly clock: Clock;

  constructor(store: FileStore, clock: Clock) {
    this.store = store;
    this.clock = clock;
  }

  async states(agents?: readonly string[]): Promise<FleetStates> {
    const states = new Map<string, ReadonlyMap<string, ScheduleState>>();
    for (const agent of agents ?? Object.keys((await this.store.readFleet()).agents))
      states.set(agent, await this.store.list(agent));
    return states;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.store.close();
  }
}

class DirectoryConnection extends OpenDirectory implements StateConnection {
  readonly #stateDir: string;
  readonly #files: JobFiles;

  constructor(stateDir: string, clock: Clock, logger: Logger) {
    super(new FileStore({ stateDir, clock, logger }), clock);
    this.#stateDir = stateDir;
    this.#files = new JobFiles(stateDir, logger);
  }

  /** The owner of the directory may run every schedule in it. */
  async schedulers(): Promise<readonly SchedulerProcess[]> {
    const owner = await readOwner(this.#stateDir, this.clock.now());
    return owner === undefined ? [] : [{ name: undefined, ...owner }];
  }

  async orphans(): Promise<ScheduleSet> {
    return { has: () => false };
  }

  async nodesOf(): Promise<ReadonlyMap<string, string>> {
    return new Map();
  }

  forget(key: ScheduleKey): Promise<boolean> {
    return this.store.forget(key);
  }

  output(jobId: string): Promise<Buffer | undefined> {
    return this.#files.output(jobId);
  }

  isAbandoned(jobId: string): Promise<boolean> {
    return this.#files.isAbandoned(jobId);
  }
}

class ManualOnlyStore extends FileStore {
  override async claimDue(): Promise<DueSlots> {
    return { claims: [], skipped: [], nextDueAt: undefined };
  }
}
