/**
 * Where the state of a fleet is kept: a directory, or a database that several machines share. Commands use both through
 * this interface.
 */
import type { Clock } from "../../clock.js";
import type { Logger } from "../../logger.js";
import type { JobLimits } from "../../state/job-log/job-log.js";
import type { ScheduleState } from "../../state/schedule-state.js";
import type { ScheduleKey, StateStore } from "../../state/store.js";
import type { Finding } from "../doctor/finding.js";

export interface StateLocation {
  /** For messages: a path, or an address without its password. */
  readonly name: string;
  /** Opens the state for a scheduler in this process. */
  open(options: OpenOptions): Promise<OpenState>;
  /** Connects beside the running schedulers, to read state and change schedules. Claims nothing and creates nothing. */
  connect(options: ConnectOptions): Promise<StateConnection>;
  /** What `rota doctor` reports about the location and its content. Reads only. */
  check(clock: Clock): Promise<readonly Finding[]>;
}

export interface ConnectOptions {
  readonly clock: Clock;
  /** Receives problems of the state. */
  readonly logger: Logger;
}

export interface OpenOptions extends ConnectOptions {
  /** The node's name in a database; a directory ignores it. */
  readonly nodeName?: string | undefined;
  /** How much is kept of jobs. */
  readonly jobs: JobLimits | undefined;
  /** Claim only manually triggered schedules, even when other slots are due. */
  readonly isManualOnly?: boolean | undefined;
}

/** By agent, then by schedule. */
export type FleetStates = ReadonlyMap<string, ReadonlyMap<string, ScheduleState>>;

export interface OpenState extends AsyncDisposable {
  readonly store: StateStore;
  /** The clock that decides what is due: the database's, or this machine's for a directory. */
  readonly clock: Clock;
  /** The states of these agents, or of all, in one read. */
  states(agents?: readonly string[]): Promise<FleetStates>;
}

export interface StateConnection extends OpenState {
  /** Schedulers that run or ran recently; with a key, only schedulers that may run that schedule. */
  schedulers(key?: ScheduleKey): Promise<readonly SchedulerProcess[]>;
  /** Due schedules that no live scheduler knows. One read covers the whole fleet. */
  orphans(): Promise<ScheduleSet>;
  /** The names of the nodes that ran these jobs, by job id; empty for a directory, which has one scheduler. */
  nodesOf(jobIds: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** Removes a schedule's state, and leaves its jobs; `false` when it has a running job or is unknown. */
  forget(key: ScheduleKey): Promise<boolean>;
  /** A job's output in bytes; while the job writes, the last character may be incomplete. */
  output(jobId: string): Promise<Buffer | undefined>;
  /** Whether a job's record says `running` although no process will end it. */
  isAbandoned(jobId: string): Promise<boolean>;
}

export interface ScheduleSet {
  has(key: ScheduleKey): boolean;
}

/** A scheduler as other processes see it. */
export interface SchedulerProcess {
  /** `undefined` for a directory, which has one scheduler. */
  readonly name: string | undefined;
  readonly pid: number;
  readonly host: string;
  readonly since: Date | undefined;
  /** Its last heartbeat. */
  readonly seenAt: Date;
  readonly isAlive: boolean;
}
