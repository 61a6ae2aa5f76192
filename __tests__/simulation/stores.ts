/** Where states outlive the processes that keep them: what a simulation needs of a store, whichever it is. */
import type { EndedJobRecord, JobLog } from "../../src/state/job-log/job-log.js";
import type { ScheduleState, ScheduleStatePatch } from "../../src/state/schedule-state.js";
import type {
  ClaimToken,
  Definitions,
  ScheduleDefinition,
  ScheduleKey,
  StateStore,
} from "../../src/state/store.js";
import type { ProcessClock } from "./virtual-clock.js";

export type KnownState = Partial<ScheduleState>;

export interface StateWitness {
  changed(key: ScheduleKey, before: KnownState, after: KnownState): void;
  /** A claim has ended, by a call of `finishJobs` with this one. */
  completed(claim: ClaimToken, before: KnownState): void;
  /** A claim was written and is not held, because its write failed all the same. */
  unheld?(token: string): void;
  /** A store was closed and has left a claim that it did not hold. */
  left?(key: ScheduleKey): void;
  /** The final record of a job is written. */
  recorded?(record: EndedJobRecord): void;
}

/** A schedule with the capacity of its agent. */
export interface DefinedCapacity extends ScheduleDefinition {
  readonly maxConcurrent: number;
}

export function capacitiesOf({ agents = [], schedules }: Definitions): DefinedCapacity[] {
  const capacities = new Map(agents.map(({ agent, maxConcurrent = 1 }) => [agent, maxConcurrent]));
  return schedules.map((schedule) => ({ ...schedule, maxConcurrent: capacities.get(schedule.agent) ?? 1 }));
}

/** What the store of a process really holds, told without waiting. */
export interface StateView {
  /** Whether others may use it beside its process. */
  readonly isShared?: boolean | undefined;
  /** What its process defined last. */
  readonly definitions: readonly DefinedCapacity[];
  readonly jobs: JobLog;
  keys(): Iterable<ScheduleKey>;
  /** What its users see. */
  peek(key: ScheduleKey): KnownState;
  /** What is written down. */
  stored(key: ScheduleKey): KnownState;
  /** Whether a process that died or was stopped holds it. */
  isLeft(key: ScheduleKey): boolean;
  /** As somebody with an editor does, or another program. */
  edit(key: ScheduleKey, patch: ScheduleStatePatch): Promise<void>;
}

export interface BootedStore {
  /** What its scheduler is given. */
  readonly store: StateStore;
  readonly view: StateView;
  readonly calls: { readonly callsUnderWay: number };
}

/** `claimed`, `defined`: it is done and the caller does not know yet. `fault`: the disk has failed. */
export type WorstMoment = "claimed" | "defined" | "fault";

export interface Stores {
  /** Whether others may use it beside a process: then who has died is found out by the end of its leases. */
  readonly isShared: boolean;
  /**
   * The store of a new process, on what the processes before it have left. `onMoment` is called at the moments at which
   * something else is worst.
   */
  boot(clock: ProcessClock, onMoment: (moment: WorstMoment) => void): Promise<BootedStore>;
  /** A process that stands still is taken for dead; what it asks from now on is refused. */
  overtake(store: StateStore): void;
  /** To be asked whenever everything has acted. */
  check(): void;
}
