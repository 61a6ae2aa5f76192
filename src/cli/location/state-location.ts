/**
 * Where the state of a fleet is kept: a directory, or a database that several machines share. Commands know a place by
 * its name, and what they do there is the same for both.
 */
import type { Clock } from "../../clock.js";
import type { Logger } from "../../logger.js";
import type { ScheduleState } from "../../state/schedule-state.js";
import type { ScheduleKey, StateStore } from "../../state/store.js";
import type { Finding } from "../doctor/finding.js";

export interface Place {
  /** As people are told of it: a path, or an address without its password. */
  readonly name: string;
  /** To look and to change things beside the schedulers that run: a guest claims nothing and makes nothing. */
  visit(visitor: Visitor): Promise<Guest>;
  /** For a scheduler in this process. */
  settle(settler: Settler): Promise<Home>;
  /** What there is to say of it, and of what is in it. Looks, and changes nothing. */
  examine(clock: Clock): Promise<readonly Finding[]>;
}

/** Who comes, and where trouble is told. */
export interface Visitor {
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface Settler extends Visitor {
  /** What others see this scheduler as, where there can be others. */
  readonly nodeName?: string | undefined;
  /** Whether it claims nothing but what it is told to, whatever is due. */
  readonly isByHand?: boolean | undefined;
}

/** By agent, and then by schedule. */
export type FleetStates = ReadonlyMap<string, ReadonlyMap<string, ScheduleState>>;

export interface Home extends AsyncDisposable {
  readonly store: StateStore;
  /** The time there, by which everything in it is due. */
  readonly clock: Clock;
  /** The states that there are, of these agents or of all. Costs the same however many they are. */
  states(agents?: readonly string[]): Promise<FleetStates>;
}

export interface Guest extends Home {
  /** Those that run, or did until lately; with a key, only those that may run that schedule. */
  schedulers(key?: ScheduleKey): Promise<readonly SeenScheduler[]>;
  /** What is due and will not run, because none of those that live knows it. Asked once for all. */
  orphans(): Promise<ScheduleSet>;
  /** A job's output, as bytes: one that is being written may end within a character. */
  output(jobId: string): Promise<Buffer | undefined>;
  /** Whether nobody will ever end a job whose record is open. */
  isAbandoned(jobId: string): Promise<boolean>;
}

export interface ScheduleSet {
  has(key: ScheduleKey): boolean;
}

/** A scheduler as it is seen from outside. */
export interface SeenScheduler {
  /** `undefined` where there can be only one. */
  readonly name: string | undefined;
  readonly pid: number;
  readonly host: string;
  readonly since: Date | undefined;
  /** Its last sign of life. */
  readonly seenAt: Date;
  readonly isAlive: boolean;
}
