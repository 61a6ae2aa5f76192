/** The ways in which the claim of a slot ends: its job has ended, the slot is dropped, or it is given back. */
import { supersededRecord } from "../../state/job-log/superseded-record.js";
import type { ScheduleState, ScheduleStatePatch } from "../../state/schedule-state.js";
import type { Claim, FinishResult, JobFinish } from "../../state/store.js";
import type { ClaimHolder } from "../claims/held-claims.js";
import { nameOf, type SchedulerContext } from "../context.js";
import type { MissedSlot, Planner } from "../planning/planner.js";
import { type Conclusion, stateAfterJob } from "../planning/state-after-job.js";
import { nextCronRun } from "../timing/cron.js";
import { cronExpression } from "../timing/schedule.js";
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
  #told: Omit<Conclusion, "patch"> | undefined = undefined;

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
  }

  finish(onClaimEnded: () => void): JobFinish {
    const { claim, id } = this.holder;
    return {
      claim: claim.jobId === id ? claim : { ...claim, jobId: id },
      change: (state) => this.#conclude(state),
      record: this.#ending.record,
      onClaimEnded,
    };
  }

  #conclude(state: ScheduleState): ScheduleStatePatch {
    const { patch, plan, problem } = stateAfterJob(
      this.#planner.input(this.holder.claim, state),
      this.#ending,
    );
    const { log, events } = this.#context;
    // Without a listener nothing is kept until the end is written: a burst has thousands of plans.
    const isTold = problem !== undefined || log.debug !== undefined || events.isHeard("schedule:planned");
    this.#told = isTold ? { plan, problem } : undefined;
    return patch;
  }

  settle(ended: EndedClaim): void {
    const { claim, id } = this.holder;
    this.holder.settle();
    this.#onOver(this.holder);
    if (ended === "superseded")
      this.#context.log.warn(
        `${id} of ${nameOf(claim)} lost its claim before it ended: its result changes nothing.`,
      );
    else if (this.#told !== undefined) this.#planner.tell(claim, this.#told);
    if (this.holder.schedule.type === "cron") this.#tellOverlapped();
  }

  close(ended: EndedClaim): void {
    const { log, events } = this.#context;
    const { record } = this.#ending;
    const job = ended === "superseded" ? supersededRecord(record) : record;
    log.debug?.(`Finished ${job.id} of ${nameOf(this.holder.claim)}: ${job.status}`);
    events.emit("job:finished", { job });
  }

  abandon(): void {
    this.holder.abandon();
    this.#onOver(this.holder);
  }

  /** Reports that the next time of a cron schedule passed while its job ran. */
  #tellOverlapped(): void {
    const { claim } = this.holder;
    const schedule = this.#context.roster.find(claim)?.schedule;
    if (schedule?.type !== "cron") return;
    const slot = nextCronRun(cronExpression(schedule), claim.claimedAt, schedule.timezone);
    if (slot <= this.#ending.finishedAt) this.#planner.skip(claim, "already_running", slot);
  }
}

/** A slot that does not run: too late, or only a time to plan again. */
export class DroppedSlot implements ClaimEnd, ClaimHolder {
  readonly claim: Claim;
  readonly #missed: MissedSlot | undefined;
  readonly #planner: Planner;
  #conclusion: Conclusion | undefined;

  /** `missed`: when that is because no scheduler was there at its time. */
  constructor(claim: Claim, missed: MissedSlot | undefined, planner: Planner) {
    this.claim = claim;
    this.#missed = missed;
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
        this.#conclusion = this.#planner.dropped(claim, state, this.#missed);
        return this.#conclusion.patch;
      },
    };
  }

  settle(ended: EndedClaim): void {
    if (ended === "ended" && this.#conclusion !== undefined)
      this.#planner.tellDropped(this.claim, this.#missed, this.#conclusion);
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
