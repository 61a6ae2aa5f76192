/**
 * A job of this scheduler, from its start until its end is written: its claim, its phase, and how it ended.
 * How it does its work is decided in execute-job.ts, how its end is written in job-completer.ts.
 */
import { messageOf } from "../../errors.js";
import { isoText } from "../../iso-time.js";
import { jobKey } from "../../runner/job-context.js";
import { fillPrompt } from "../../runner/runtimes/template.js";
import type { JobResult } from "../../runner/result.js";
import type { EndedJobRecord, JobRecord } from "../../state/job-log/job-log.js";
import type { JobOrder } from "../../state/mailbox.js";
import type { ScheduleState } from "../../state/schedule-state.js";
import type { Claim } from "../../state/store.js";
import type { Agent, AgentSchedule, RunResult } from "../agent.js";
import type { ClaimHolder } from "../claims/held-claims.js";
import { nextTry } from "../planning/next-try.js";
import type { RosterEntry } from "../roster.js";

/**
 * `running`; `stopping`: it was told to end, and has not yet; `ended`: its end is still to be written; `settled`: the
 * store has ended its claim; `abandoned`: writing its end was given up.
 */
export type JobPhase = "running" | "stopping" | "ended" | "settled" | "abandoned";

/** The phases that may follow each phase. */
export const NEXT_PHASES: Readonly<Record<JobPhase, readonly JobPhase[]>> = {
  running: ["stopping", "ended"],
  stopping: ["ended"],
  ended: ["settled", "abandoned"],
  settled: [],
  abandoned: [],
};

/** `cancelled`: by a caller, or a stop. `superseded`: its slot was claimed again. `unrenewed`: its claim may soon expire. */
export type JobStopCause = "cancelled" | "superseded" | "unrenewed";

/** How a job ended, and when. Kept until it is written, of thousands of jobs in a burst. */
export interface JobEnding {
  readonly finishedAt: Date;
  readonly record: EndedJobRecord;
  /** Whether it was started only to find that there is no work: then it has no record. */
  readonly isNoWork: boolean;
}

export class Job implements ClaimHolder {
  readonly id: string;
  readonly agent: Agent;
  schedule: AgentSchedule;
  readonly scheduleName: string;
  readonly timeout: AgentSchedule["timeout"];
  readonly startedAt: Date;
  /** The same on the monotonic clock. */
  readonly startedMs: number;
  /** Set while the job looks for work, and called when it has found some: until then its start is not reported. */
  onWork: (() => void) | undefined = undefined;
  /** The item that it works on, or that an earlier attempt worked on. */
  workItemId: string | undefined;
  /** The claim it was started under, which names the job and its slot. */
  readonly #first: Claim;
  readonly #source: JobRecord["source"];
  /** What it was triggered with. */
  #order: JobOrder | undefined = undefined;
  #claim: Claim;
  #phase: JobPhase = "running";
  #stopReason: { readonly cause: JobStopCause; readonly reason: string } | undefined = undefined;
  #isSuperseded = false;
  #record: JobRecord | undefined = undefined;
  #controller: AbortController | undefined = undefined;

  constructor(claim: Claim, entry: RosterEntry, source: JobRecord["source"], startedMs: number) {
    const { agent, schedule } = entry;
    this.id = claim.jobId;
    this.agent = agent;
    this.schedule = schedule;
    this.scheduleName = claim.schedule;
    this.timeout = schedule.timeout;
    this.startedAt = claim.claimedAt;
    this.startedMs = startedMs;
    this.#first = claim;
    this.#claim = claim;
    this.#source = source;
    this.workItemId = claim.source === "retry" ? (claim.state.retry?.work_item ?? undefined) : undefined;
  }

  get phase(): JobPhase {
    return this.#phase;
  }

  /** To be called before its record is read. `{{path}}` in its prompt names a part of the order's data. */
  accept(order: JobOrder): void {
    const { prompt = null, data = null } = order;
    const template = prompt ?? this.schedule.prompt;
    this.#order = order;
    if (template !== undefined)
      this.schedule = { ...this.schedule, prompt: data === null ? template : fillPrompt(template, data) };
  }

  /** The claim it runs under. */
  get claim(): Claim {
    return this.#claim;
  }

  /** The state of the schedule as the job found it. */
  get scheduleState(): ScheduleState {
    return this.#first.state;
  }

  get attempt(): number {
    return this.job.attempt;
  }

  isTriedAgain(status: string, now: Date): boolean {
    const { token, slot, source, state } = this.#claim;
    const claim = { token, job_id: this.id, slot: isoText(slot), source };
    return (
      nextTry({ schedule: this.schedule, state: { ...state, claim } }, { status, failedAt: now }) !==
      undefined
    );
  }

  /** Its record as it is at its start. */
  get job(): JobRecord {
    this.#record ??= this.#startRecord();
    return this.#record;
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    return this.#controller.signal;
  }

  /** Whether it has not ended. */
  get isRunning(): boolean {
    return this.#phase === "running" || this.#phase === "stopping";
  }

  get isStopped(): boolean {
    return this.#controller?.signal.aborted === true;
  }

  /** Tells the job to end. `false` when it has ended, or was told before. */
  stop(cause: JobStopCause, reason: string): boolean {
    if (!this.isRunning) return false;
    // Also when it was told to stop before: it must not continue under a newer claim.
    if (cause === "superseded") this.#isSuperseded = true;
    if (this.#phase === "stopping") return false;
    this.#enter("stopping");
    this.#stopReason = { cause, reason };
    this.#controller ??= new AbortController();
    this.#controller.abort(new DOMException(reason, "AbortError"));
    return true;
  }

  /** `finishedMs` on the monotonic clock. */
  end(returned: JobResult, finishedAt: Date, finishedMs: number): JobEnding {
    this.#enter("ended");
    const { cause, reason = "" } = this.#stopReason ?? {};
    const result = cause === "unrenewed" ? interruptedResult(returned, reason) : returned;
    const record = this.#record === undefined ? this.#startRecord() : { ...this.#record };
    const elapsedMs = finishedMs - this.startedMs;
    const isNoWork = result.skipReason !== undefined && this.onWork !== undefined;
    return { finishedAt, record: ended(record, result, finishedAt, elapsedMs), isNoWork };
  }

  /** The store has ended its claim. */
  settle(): void {
    this.#enter("settled");
  }

  /** Writing its end was given up. */
  abandon(): void {
    this.#enter("abandoned");
  }

  /**
   * Continues under a newer claim, when the store was out of reach for so long that the schedule was claimed again.
   * `false` when `claim` needs a new job: this one was superseded, its claim has ended, or the slot is a later one.
   */
  continueUnder(claim: Claim): boolean {
    const isSameSlot = claim.slot.getTime() === this.#claim.slot.getTime();
    const mayContinue = this.isRunning ? !this.#isSuperseded : this.#phase === "ended" && isSameSlot;
    if (mayContinue) this.#claim = claim;
    return mayContinue;
  }

  #startRecord(): JobRecord {
    const { agent, schedule, jobId, slot, attempt, claimedAt } = this.#first;
    const { type, prompt } = this.schedule;
    const record: JobRecord = {
      id: jobId,
      agent,
      schedule,
      trigger: this.#source === "manual" || this.#source === "retry" ? this.#source : type,
      slot: isoText(slot),
      source: this.#source,
      attempt,
      prompt: prompt ?? null,
      work_item: null,
      started_at: isoText(claimedAt),
      status: "running",
      finished_at: null,
      duration_ms: null,
      error: null,
      summary: null,
      exit_code: null,
      response_body: null,
    };
    return this.#order === undefined ? record : { ...record, ...orderedBy(this.#order, record) };
  }

  #enter(phase: JobPhase): void {
    if (!NEXT_PHASES[this.#phase].includes(phase))
      throw new Error(`A job that is ${this.#phase} cannot become ${phase}: ${this.id}`);
    this.#phase = phase;
  }
}

/** What the record of a job says of its order. */
function orderedBy(
  { trigger, data, cause, author }: JobOrder,
  record: JobRecord,
): Pick<JobRecord, "trigger" | "data" | "cause"> {
  const by = [author, cause].filter((part) => part != null && part !== "").join(": ");
  return {
    trigger: record.trigger === "manual" ? (trigger ?? "manual") : record.trigger,
    ...(data == null ? {} : { data }),
    ...(by === "" ? {} : { cause: by }),
  };
}

/** What a host that runs the jobs itself learns of one. */
export interface TriggerInfo {
  readonly agent: Agent;
  /** The schedule's name. */
  readonly schedule: string;
  /** The same as `schedule`. */
  readonly scheduleName: string;
  /** How the schedule is defined. */
  readonly definition: AgentSchedule;
  /** The state of the schedule as the job found it. */
  readonly scheduleState: ScheduleState;
  readonly jobId: string;
  /** The due time that the job runs for, the same in every attempt; `null` for a job without one. */
  readonly slot: Date | null;
  /** "agent/schedule@slot": an idempotency key, the same in every attempt; `null` without a slot. */
  readonly key: string | null;
  /** The schedule's prompt, or that of the job's trigger; `undefined` without one. */
  readonly prompt: string | undefined;
  /** What the job was triggered with: any JSON value; `null` for a job without data. */
  readonly data: unknown;
  /** The job's record as it is at its start: why and for when it runs, which attempt it is. */
  readonly job: JobRecord;
  /** Fires when the job is cancelled, or the scheduler no longer waits for it. */
  readonly signal: AbortSignal;
}

/** A frozen copy: the host cannot change the scheduler's own job through it. */
export function triggerInfo({
  id,
  agent,
  schedule,
  scheduleName,
  scheduleState,
  job,
  signal,
}: Job): TriggerInfo {
  return Object.freeze({
    agent,
    schedule: scheduleName,
    scheduleName,
    definition: schedule,
    scheduleState: Object.freeze({ ...scheduleState }),
    jobId: id,
    slot: job.slot === null ? null : new Date(job.slot),
    key: jobKey(job),
    prompt: schedule.prompt,
    data: job.data ?? null,
    job: Object.freeze({ ...job }),
    signal,
  });
}

const COMPLETED: JobResult = { status: "completed" };

/** The result that an executor or a host returned; returning nothing is success. */
export function resultOf(returned: RunResult | void): JobResult {
  if (returned === undefined) return COMPLETED;
  if (isJobResult(returned)) return returned;
  const { success, status, error, summary, exitCode, responseBody, workItem, durationMs, skipReason } =
    returned;
  const said = { summary, exitCode, responseBody, workItem, durationMs, skipReason };
  if (success) return { ...said, status: "completed" };
  const isKnown = status === "timeout" || status === "cancelled";
  return { ...said, status: isKnown ? status : "failed", error: error ?? "the job failed" };
}

/** Whether nothing is to be completed in a result, as in every result of Rota's own runner. */
function isJobResult(returned: RunResult): returned is RunResult & JobResult {
  const { success, status, error } = returned;
  if (success) return status === "completed" && error === undefined;
  return (status === "failed" || status === "timeout" || status === "cancelled") && error !== undefined;
}

/** A job that throws has failed, unless it was told to stop. */
export function failureOf(error: unknown, isStopped: boolean): JobResult {
  return { status: isStopped ? "cancelled" : "failed", error: messageOf(error) };
}

/** A job that was stopped because its claim could not be renewed has not failed, unless it ended by itself. */
function interruptedResult(result: JobResult, reason: string): JobResult {
  if (result.status === "completed" || result.status === "timeout") return result;
  return { ...result, status: "interrupted", error: `interrupted: ${reason}` };
}

/** Fills in the record of a job that has ended. A copy would take as long as the rest of a job that ends at once. */
function ended(
  record: { -readonly [Key in keyof JobRecord]: JobRecord[Key] },
  { status, error, summary, exitCode, responseBody, workItem, durationMs }: JobResult,
  finishedAt: Date,
  elapsedMs: number,
): EndedJobRecord {
  record.work_item = workItem ?? record.work_item;
  record.error = error ?? null;
  record.summary = summary ?? null;
  record.exit_code = exitCode ?? null;
  record.response_body = responseBody ?? null;
  // Measured closer to the job where its runner did: jobs that start together delay each other.
  record.duration_ms = Math.round(durationMs ?? elapsedMs);
  return Object.assign(record, { status, finished_at: isoText(finishedAt) });
}
