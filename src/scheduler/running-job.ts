/** A job that has been started and not yet recorded as ended. */
import type { JobRecord } from "../state/jobs/job-log.js";
import type { ScheduleState } from "../state/schedule-state.js";
import type { Claim } from "../state/state-store.js";
import type { Agent, AgentSchedule } from "./agent.js";

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

export class RunningJob implements TriggerInfo {
  /** What it runs under: another than it was started with, when that was not renewed in time. */
  claim: Claim;
  readonly agent: Agent;
  readonly schedule: AgentSchedule;
  readonly scheduleState: ScheduleState;
  readonly job: JobRecord;
  readonly startedMs: number;
  /** Resolves when the log has its start, to `false` when no log ever will; absent while that is still to be tried. */
  recording: Promise<boolean> | undefined;
  /** Whether only its result is still to be recorded. */
  hasEnded = false;
  /** Whether its claim is being ended, which makes room for the next one. */
  isCompleting = false;
  /** Whether the store has its outcome. */
  isCompleted = false;
  /** Whether the log has its end. */
  isRecorded = false;
  #controller: AbortController | undefined;

  constructor(claim: Claim, { agent, schedule, job, startedMs }: StartedJob) {
    this.claim = claim;
    this.scheduleState = claim.state;
    this.agent = agent;
    this.schedule = schedule;
    this.job = job;
    this.startedMs = startedMs;
  }

  get scheduleName(): string {
    return this.claim.schedule;
  }

  /** Made when it is first asked for: most jobs of a herd never look at it. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    return this.#controller.signal;
  }

  /** One that has ended takes no other slot than its own: that of a later one is to be run. */
  mayGoOnUnder({ slot }: Claim): boolean {
    return !this.hasEnded || slot.getTime() === this.claim.slot.getTime();
  }

  get isAborted(): boolean {
    return this.#controller?.signal.aborted === true;
  }

  abort(reason: string): void {
    this.#controller ??= new AbortController();
    this.#controller.abort(new DOMException(reason, "AbortError"));
  }
}

interface StartedJob {
  readonly agent: Agent;
  readonly schedule: AgentSchedule;
  readonly job: JobRecord;
  /** On the monotonic clock. */
  readonly startedMs: number;
}
