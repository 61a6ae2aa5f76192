/** The ways in which the claim of a slot ends: its job has ended, the slot is dropped, or it is given back. */
import type { EndedJobRecord } from "../../state/job-log/job-log.js";
import { isoText } from "../../iso-time.js";
import { supersededRecord } from "../../state/job-log/superseded-record.js";
import type { ScheduleState, ScheduleStatePatch } from "../../state/schedule-state.js";
import type { Claim, FinishResult, JobFinish } from "../../state/store.js";
import type { ClaimHolder } from "../claims/held-claims.js";
import { nameOf, type SchedulerContext } from "../context.js";
import type { LostSlot, Planner } from "../planning/planner.js";
import { type Conclusion, stateAfterJob } from "../planning/state-after-job.js";
import type { Job, JobEnding } from "./job.js";

/** Whether the claim was still held when its end was written. */
export type EndedClaim = Exclude<FinishResult["claim"], "failed">;

/** A claim that is to be ended. */
export interface ClaimEnd {
  readonly holder: ClaimHolder;
  /** What to write, under the claim that is held now. */
  finish(onClaimEnded: () => void): JobFinish;
  /** Called once, when the store has ended the claim. */
  settle(claim: EndedClaim): void;
  /** Called instead of `settle`, when ending the claim was given up. */
  abandon(): void;
  /** Called once after either, when the record is written too or was given up. */
  close(claim: EndedClaim): void;
}

/** A job that ran a slot: its result decides the state of its schedule and the next plan. */
export class SlotJobEnd implements ClaimEnd {
  readonly holder: Job;
  readonly #ending: JobEnding;
  readonly #planner: Planner;
  readonly #context: SchedulerContext;
  readonly #onOver: (job: Job) => void;
  #told: Omit<Conclusion, "patch"> | undefined;
  #wasPaused: boolean;

  /** `onOver` is called when the claim has ended, or ending it was given up. */
  constructor(
    job: Job,
    ending: JobEnding,
    planner: Planner,
    context: SchedulerContext,
    onOver: (job: Job) => void,
  ) {
    this.holder = job;
    this.#ending = ending;
    this.#planner = planner;
    this.#context = context;
    this.#onOver = onOver;
    this.#told = undefined;
    this.#wasPaused = false;
  }

  finish(onClaimEnded: () => void): JobFinish {
    const { claim, id } = this.holder;
    return {
      claim: claim.jobId === id ? claim : { ...claim, jobId: id },
      change: (state) => this.#conclude(state),
      record: this.#ending.isNoWork ? undefined : this.#ending.record,
      onClaimEnded,
    };
  }

  #conclude(state: ScheduleState): ScheduleStatePatch {
    const { claim } = this.holder;
    // A `next_run_at` that was edited is an order, though it ran before the order was planned.
    const isOrder = claim.source === "manual" && state.claim?.source !== "manual";
    const known = isOrder ? { ...state, next_run_source: claim.source } : state;
    const { record: result, finishedAt, isNoWork } = this.#ending;
    const { startedAt, workItemId: workItem } = this.holder;
    const run = { result, startedAt, finishedAt, workItem };
    const conclusion = stateAfterJob(this.#planner.input(claim, known), run);
    const { patch, plan, problem } = conclusion;
    let { unrun } = conclusion;
    const { log, events } = this.#context;
    // Without a listener nothing is kept until the end is written: a burst has thousands of plans.
    // A store may apply the end again to what it wrote: then the first time has counted.
    if (unrun === undefined && state.claim?.token !== claim.token) unrun = this.#told?.unrun;
    const isNews = problem !== undefined || unrun !== undefined;
    const isTold = isNews || log.debug !== undefined || events.isHeard("schedule:planned");
    this.#told = isTold ? { plan, problem, unrun } : undefined;
    this.#wasPaused = state.next_run_source === "paused";
    if (!isNoWork || state.claim?.token !== claim.token) return patch;
    const last_no_work_at = isoText(finishedAt);
    return { ...patch, no_work_count: (state.no_work_count ?? 0) + 1, last_no_work_at };
  }

  settle(ended: EndedClaim): void {
    const { claim, id } = this.holder;
    this.holder.settle();
    this.#onOver(this.holder);
    if (ended === "superseded")
      this.#context.log.warn(
        `${id} of ${nameOf(claim)} lost its claim before it ended: its result changes nothing.`,
      );
    else if (this.#told !== undefined) {
      if (this.#told.unrun !== undefined) this.#planner.tellPassed(claim, this.#told.unrun, this.#wasPaused);
      this.#planner.tell(claim, this.#told);
    }
  }

  close(ended: EndedClaim): void {
    const { log, events, logsFailures } = this.#context;
    const { record, isNoWork } = this.#ending;
    if (isNoWork) return;
    const job = ended === "superseded" ? supersededRecord(record) : record;
    log.debug?.(`Finished ${job.id} of ${nameOf(this.holder.claim)}: ${job.status}`);
    if (job.status !== "completed" && logsFailures !== false) this.#logFailure(job);
    events.emit("job:finished", { job });
  }

  abandon(): void {
    this.holder.abandon();
    this.#onOver(this.holder);
  }

  /** A cancelled job is not logged: its caller knows. */
  #logFailure({ id, status, error }: EndedJobRecord): void {
    const { log } = this.#context;
    const name = nameOf(this.holder.claim);
    if (status === "interrupted")
      log.warn(`${name} was interrupted (${id}): ${error ?? "its claim was lost"}`);
    else if (status !== "cancelled") log.error(`${name} failed (${id}): ${error ?? status}`);
  }
}

/** A slot that does not run: too late, given up, or only a time to plan again. */
export class DroppedSlot implements ClaimEnd, ClaimHolder {
  readonly claim: Claim;
  readonly #lost: LostSlot;
  readonly #planner: Planner;
  #conclusion: Conclusion | undefined;

  constructor(claim: Claim, lost: LostSlot, planner: Planner) {
    this.claim = claim;
    this.#lost = lost;
    this.#planner = planner;
  }

  get holder(): ClaimHolder {
    return this;
  }

  finish(): JobFinish {
    const { claim } = this;
    return {
      claim,
      change: (state) => {
        const conclusion = this.#planner.dropped(claim, state, this.#lost);
        const isOwn = state.claim?.token === claim.token;
        const unrun = conclusion.unrun ?? (isOwn ? undefined : this.#conclusion?.unrun);
        this.#conclusion = { ...conclusion, unrun };
        return conclusion.patch;
      },
    };
  }

  settle(ended: EndedClaim): void {
    if (ended === "ended" && this.#conclusion !== undefined)
      this.#planner.tellDropped(this.claim, this.#lost, this.#conclusion);
  }

  close(): void {}

  abandon(): void {}
}

/** A claim that came too late to be used: its slot stays due. */
export class ReleasedSlot implements ClaimEnd, ClaimHolder {
  readonly claim: Claim;

  constructor(claim: Claim) {
    this.claim = claim;
  }

  get holder(): ClaimHolder {
    return this;
  }

  finish(): JobFinish {
    return { claim: this.claim, change: {}, keepsSlot: true };
  }

  settle(): void {}

  close(): void {}

  abandon(): void {}
}
