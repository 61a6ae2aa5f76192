/**
 * A store whose states outlive it, as a file does: a successor takes them over as they were when the process died. It lets
 * the guarantees see every change at the moment it is made.
 */
import type { OwnedJobLog } from "../../src/state/owner/owned-job-log.js";
import type { MemoryStore } from "../../src/state/memory/memory-store.js";
import type { ScheduleState, ScheduleStatePatch } from "../../src/state/schedule-state.js";
import type {
  DefinedSchedule,
  Definitions,
  FinishResult,
  JobFinish,
  ScheduleKey,
  StateStore,
} from "../../src/state/store.js";
import type { StateOperation } from "../../src/state/operations.js";
import {
  capacitiesOf,
  type DefinedCapacity,
  type KnownState,
  type StateView,
  type StateWitness,
} from "./stores.js";
import type { Weather } from "./troubled-store.js";
import type { ProcessClock } from "./virtual-clock.js";

export interface SurvivingStore extends StateStore, StateView {
  readonly jobs: OwnedJobLog;
  /** Takes over what a dead process left. */
  inherit(from: SurvivingStore): Promise<void>;
}

export interface SurvivingStoreOptions {
  readonly clock: ProcessClock;
  readonly leaseMs: number;
  readonly witness: StateWitness;
  /** That of the process before. */
  readonly log: OwnedJobLog | undefined;
  /** States and records fail to be written, each on its own. */
  readonly weather: Weather;
  /** Called when they do. */
  readonly onFault: (what: string) => void;
}

export function survivingStore(
  Base: typeof MemoryStore,
  { clock, leaseMs, witness, log, weather, onFault }: SurvivingStoreOptions,
): SurvivingStore {
  class Store extends Base implements SurvivingStore {
    override readonly jobs: OwnedJobLog;
    definitions: readonly DefinedCapacity[] = [];
    readonly #keys = new Map<string, ScheduleKey>();
    #wasOpen = false;
    #isInheriting = false;

    constructor() {
      super({ clock, leaseMs });
      this.jobs = log ?? super.log;
    }

    protected override get log(): OwnedJobLog {
      const { jobs } = this;
      return Object.assign(Object.create(jobs) as OwnedJobLog, {
        openRecords: jobs.openRecords.bind(jobs),
        closedRecords: jobs.closedRecords.bind(jobs),
        unrecordedJobs: jobs.unrecordedJobs.bind(jobs),
        async closeRecords(records: Parameters<OwnedJobLog["closeRecords"]>[0]) {
          const { fails } = weather.draw();
          if (fails !== undefined) onFault(`the records, ${fails} they were closed`);
          if (fails === "before") throw new Error("the records could not be closed");
          const failures = await jobs.closeRecords(records);
          for (const [index, record] of records.entries())
            if (failures[index] === undefined) witness.recorded?.(record);
          if (fails === "after") throw new Error("the records were closed, and that was not said");
          return failures;
        },
      });
    }

    override async open(): Promise<void> {
      if (!this.#wasOpen) {
        this.#wasOpen = true;
        for (const { id } of await this.jobs.list({ status: "running", limit: Infinity }))
          await this.jobs.finish(id, { status: "interrupted" });
      }
      await super.open();
    }

    override async define(definitions: Definitions): Promise<readonly DefinedSchedule[]> {
      const defined = await super.define(definitions);
      this.definitions = capacitiesOf(definitions);
      return defined;
    }

    /** The states of held claims change before the first await, so that what changes here was changed by this call. */
    override finishJobs(ends: readonly JobFinish[]): Promise<readonly FinishResult[]> {
      const before = ends.map(({ claim }) => this.known(claim));
      const finishing = super.finishJobs(ends);
      const tokens = new Set(ends.map(({ claim }) => claim.token));
      for (const [index, { claim }] of ends.entries()) {
        const held = before[index]?.claim?.token;
        const isEnded = held !== undefined && this.known(claim).claim?.token !== held;
        if (isEnded && !tokens.has(held)) witness.completed(claim, before[index] ?? {});
      }
      return finishing;
    }

    *keys(): Iterable<ScheduleKey> {
      yield* this.#keys.values();
    }

    peek(key: ScheduleKey): KnownState {
      return this.seen(this.known(key));
    }

    stored(key: ScheduleKey): KnownState {
      return this.known(key);
    }

    /** Whoever opens it takes it over from the dead at once. */
    isLeft(): boolean {
      return false;
    }

    async edit({ agent, schedule }: ScheduleKey, patch: ScheduleStatePatch): Promise<void> {
      const key = { agent, schedule };
      await this.#write({
        apply: (draft) => {
          draft.patch(key, patch);
        },
      });
      this.noteOutsideChanges([{ ...key, keys: Object.keys(patch) as (keyof ScheduleState)[] }]);
    }

    async inherit(from: SurvivingStore): Promise<void> {
      this.#isInheriting = true;
      for (const key of from.keys()) await this.update(key, { ...from.stored(key) });
      this.#isInheriting = false;
    }

    override async close(): Promise<void> {
      const unheld = [...this.keys()].filter((key) => this.seen(this.known(key)) !== this.known(key));
      await super.close();
      for (const key of unheld) if (this.known(key).claim != null) witness.left?.(key);
    }

    /** A store that cannot free claims logs that, and goes on. */
    protected override free(...[, keys]: Parameters<MemoryStore["free"]>): Promise<void> {
      return super.free((operation) => this.#write(operation), keys);
    }

    /** Before the first await, as `finishJobs` needs it. */
    protected override async commit(operation: StateOperation): Promise<void> {
      const { fails } = this.#isInheriting ? {} : weather.draw();
      if (fails !== undefined) onFault(`the states, ${fails} they were written`);
      if (fails === "before") throw new Error("the states could not be written");
      await this.#write(operation, fails === "after");
      if (fails === "after") throw new Error("the states were written, and that was not said");
    }

    #write(operation: StateOperation, isLost = false): Promise<void> {
      return super.commit({
        apply: (draft) =>
          operation.apply({
            read: (key) => draft.read(key),
            keys: () => draft.keys(),
            patch: ({ agent, schedule }, patch) => {
              const key = { agent, schedule };
              const before = this.known(key);
              const after = draft.patch(key, patch);
              this.#keys.set(`${agent}/${schedule}`, key);
              if (!this.#isInheriting) witness.changed(key, before, after);
              if (isLost && patch.claim != null) witness.unheld?.(patch.claim.token);
              return after;
            },
          }),
      });
    }
  }
  return new Store();
}
