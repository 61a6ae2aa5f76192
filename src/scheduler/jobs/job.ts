/** A job that has been started and not yet recorded as ended. As little as possible is made of it before it runs. */
import type { JobRequest } from "../../runner/job-context.js";
import type { EndedJobRecord, JobRecord } from "../../state/job-log/job-log.js";
import type { ScheduleState } from "../../state/schedule-state.js";
import type { Claim } from "../../state/store.js";
import type { Agent, AgentSchedule } from "../agent.js";
import type { ClaimHolder } from "../claims/held-claims.js";
import type { RosterEntry } from "../roster.js";
import { endRecord, type RunOutcome, startRecord } from "./run-record.js";

/** What a host is told that runs the job itself. */
export interface TriggerInfo {
  readonly agent: Agent;
  readonly scheduleName: string;
  readonly schedule: AgentSchedule;
  /** The state of the schedule as the job found it. */
  readonly scheduleState: ScheduleState;
  /** The job's record as it stands at its start: its id, why and for when it runs, which attempt it is. */
  readonly job: JobRecord;
  /** Fires when the job is cancelled, or the scheduler no longer waits for it. */
  readonly signal: AbortSignal;
}

export class RunningJob implements TriggerInfo, JobRequest, ClaimHolder {
  /** What it runs under: another than it was started with, when that was not renewed in time. */
  claim: Claim;
  place = -1;
  heldMs: number = -Infinity;
  /** On the monotonic clock. */
  readonly startedMs: number;
  /** While its start is being recorded. */
  opening: Promise<void> | undefined = undefined;
  /** Whether the log has its start: `false` when it never will, `undefined` while that is still to be tried. */
  isOpened: boolean | undefined = undefined;
  /** Whether only its result is still to be recorded. */
  hasEnded = false;
  /** Whether its claim is being ended, which makes room for the next one. */
  isCompleting = false;
  /** Whether the log has its end. */
  isRecorded = false;
  /** Whether its place has been given to others. */
  isGone = false;
  /** Why it was told to end, when that was because its claim could not be renewed. */
  cutOffBy: string | undefined = undefined;
  readonly agent: Agent;
  readonly schedule: AgentSchedule;
  readonly #startedUnder: Claim;
  /** Why it was started. */
  readonly #source: JobRecord["source"];
  #job: JobRecord | undefined = undefined;
  #controller: AbortController | undefined = undefined;
  #isLost = false;

  constructor(claim: Claim, entry: RosterEntry, source: JobRecord["source"], startedMs: number) {
    this.claim = claim;
    this.agent = entry.agent;
    this.schedule = entry.schedule;
    this.startedMs = startedMs;
    this.#startedUnder = claim;
    this.#source = source;
  }

  get id(): string {
    return this.#startedUnder.jobId;
  }

  get startedAt(): Date {
    return this.#startedUnder.claimedAt;
  }

  get scheduleName(): string {
    return this.claim.schedule;
  }

  get scheduleState(): ScheduleState {
    return this.#startedUnder.state;
  }

  get attempt(): number {
    return this.job.attempt;
  }

  get timeout(): AgentSchedule["timeout"] {
    return this.schedule.timeout;
  }

  /** Made when it is first asked for: all jobs of a burst are started before anything is written of them. */
  get job(): JobRecord {
    this.#job ??= this.#start();
    return this.#job;
  }

  /** Its record once it has ended. That of its start is not kept for it: of most jobs nobody asks for that. */
  recordAt(finishedAt: Date, durationMs: number, outcome: RunOutcome): EndedJobRecord {
    return endRecord(this.#job ?? this.#start(), outcome, finishedAt, durationMs);
  }

  #start(): JobRecord {
    return startRecord(this.#startedUnder, this.schedule, this.#source);
  }

  /** Made when it is first asked for: most jobs of a herd never look at it. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    return this.#controller.signal;
  }

  /** One that has ended takes no other slot than its own: that of a later one is to be run. */
  mayGoOnUnder({ slot }: Claim): boolean {
    if (this.#isLost) return false;
    return !this.hasEnded || slot.getTime() === this.claim.slot.getTime();
  }

  get isAborted(): boolean {
    return this.#controller?.signal.aborted === true;
  }

  /** Another has its slot: from then on it runs for nobody, and under no other claim. */
  lose(reason: string): void {
    // Where it has ended, it was its end that took the claim away.
    if (this.hasEnded) return;
    this.#isLost = true;
    this.abort(reason);
  }

  /** `false` when it has ended, or was told to before: that is how it ends then. */
  letGo(reason: string): boolean {
    if (this.hasEnded || this.isAborted) return false;
    this.cutOffBy = reason;
    this.abort(reason);
    return true;
  }

  abort(reason: string): void {
    this.#controller ??= new AbortController();
    this.#controller.abort(new DOMException(reason, "AbortError"));
  }
}
