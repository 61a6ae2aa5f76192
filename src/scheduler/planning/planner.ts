/**
 * Keeps the plans in the store: makes them when agents change or somebody changes a state, and tells what was planned.
 * What a plan is decided by is the governor's business; every decision is made on the state at the time it is written.
 */
import { isoTimeMs } from "../../iso-time.js";
import type { ScheduleState, ScheduleStatePatch } from "../../state/schedule-state.js";
import type { ClaimToken, OutsideChange, ScheduleKey, SkippedSlot } from "../../state/store.js";
import { adoptPlan } from "./reconcile-plan.js";
import { isAskedFor, judgeClaim } from "./due-slot.js";
import {
  type Conclusion,
  dropBusySlot,
  dropSlot,
  planAfter,
  type PlanNews,
  type PlanningInput,
  planPatch,
} from "./state-after-job.js";
import { GoneSchedules } from "./removed-schedules.js";
import type { Plan } from "./governor.js";
import type { Roster } from "../roster.js";
import { isAutomatic } from "../control/schedule-check.js";
import type { Schedule } from "../timing/schedule.js";
import { type PlanWrite, PlanWrites } from "./plan-writes.js";
import { nameOf, type SchedulerContext } from "../context.js";

export interface MissedSlot {
  readonly slot: Date;
  readonly lateMs: number;
  readonly graceMs: number;
}

export class Planner {
  readonly #context: SchedulerContext;
  readonly #writes: PlanWrites;
  readonly #gone = new GoneSchedules();
  readonly #hasJob: (key: ScheduleKey) => boolean;

  /** `hasJob`: whether a job of a schedule runs here. */
  constructor(context: SchedulerContext, hasJob: (key: ScheduleKey) => boolean) {
    this.#context = context;
    this.#writes = new PlanWrites(context);
    this.#hasJob = hasJob;
  }

  get hasUnwritten(): boolean {
    return this.#writes.hasUnwritten;
  }

  /** Tries again what could not be written: a schedule whose plan is lost would never run. */
  retry(): Promise<void> {
    return this.#writes.retry();
  }

  /**
   * Puts `roster` in the place of the one before: plans what is new, adopts what is planned, unplans what is gone, unless
   * others may still have it.
   */
  async adopt(roster: Roster): Promise<void> {
    const { store } = this.#context;
    const before = this.#context.roster;
    const definitions = roster.definitions();
    const states = await store.define(definitions);
    this.#context.roster = roster;
    const gone = before.definitions().filter((key) => roster.find(key) === undefined);
    for (const [index, key] of definitions.entries()) {
      const state = states[index];
      if (state !== undefined) this.#tellWhyNot(key, state);
    }
    await Promise.all([
      this.#isShared ? this.#leave(gone, before) : this.#unplanAll(gone),
      this.#adoptTogether(definitions),
    ]);
  }

  /** Looks at every plan again, as if it had just been found. */
  adoptAll(): Promise<void> {
    return this.#adoptTogether(this.#context.roster.definitions());
  }

  /**
   * Makes a change to a schedule's state and plans again. A slot that is due stays, unless it is paused now or the
   * change takes it away; a running schedule is planned when its job ends.
   */
  async change(
    key: ScheduleKey,
    decide: (state: ScheduleState) => ScheduleStatePatch,
  ): Promise<ScheduleState> {
    let conclusion: Conclusion | undefined;
    let dropped: Date | undefined;
    const state = await this.#context.store.update(key, (current) => {
      const changes = decide(current);
      const after = { ...current, ...changes };
      conclusion = undefined;
      dropped = undefined;
      const dueMs = this.#dueMs(after);
      const isPaused = (isoTimeMs(after.paused_until) ?? -Infinity) > this.#context.clock.now().getTime();
      const input = this.input(key, current);
      const isLeft = after.claim != null || input.isPlannedByOthers === true;
      if (isLeft || (dueMs !== undefined && !isPaused)) return changes;
      if (dueMs !== undefined) dropped = new Date(dueMs);
      conclusion = planAfter(input, changes);
      return conclusion.patch;
    });
    if (dropped !== undefined) this.skip(key, "paused", dropped);
    if (conclusion !== undefined) this.tell(key, conclusion);
    return state;
  }

  /** Takes account of what somebody else wrote into the state. */
  async noteOutside(changes: readonly OutsideChange[]): Promise<void> {
    const known = changes.filter((change) => {
      const schedule = this.#context.roster.find(change)?.schedule;
      if (schedule === undefined) return false;
      const { keys } = change;
      return this.#isPlannedByOthers(schedule) ? keys.includes("next_run_at") : keys.some(isPlannedBy);
    });
    await this.#writes.writeAll(
      known.map(({ agent, schedule, keys }) => {
        const key = { agent, schedule };
        if (keys.includes("next_run_at")) return { key, write: () => this.#honour(key) };
        // A slot from before it was disabled is no slot any more.
        const isFresh = keys.includes("status");
        const decide = ({ claim }: ScheduleState): ScheduleStatePatch =>
          isFresh && claim == null ? planPatch(undefined) : {};
        return { key, write: () => this.change(key, decide) };
      }),
    );
  }

  /** What becomes of slots that have to wait: they wait, unless they were missed or their schedule would rather not. */
  async noteWaiting(slots: readonly SkippedSlot[]): Promise<void> {
    const plans: PlanWrite[] = [];
    for (const { agent, schedule: name, slot, source, reason } of slots) {
      const key = { agent, schedule: name };
      const schedule = this.#context.roster.find(key)?.schedule;
      if (schedule === undefined) continue;
      const verdict = judgeClaim({ slot, source, seenAt: this.#context.clock.now() }, schedule);
      // The end of a pause is no slot, and to plan takes no capacity.
      if (verdict.action !== "plan") this.skip(key, reason, slot);
      const missed = verdict.action === "miss" ? { ...verdict, slot } : undefined;
      const isUnwanted = "when_busy" in schedule && schedule.when_busy === "skip" && !isAskedFor(source);
      if (verdict.action !== "run" || isUnwanted)
        plans.push({ key, write: () => this.#dropWaiting(key, slot, missed) });
    }
    await this.#writes.writeAll(plans);
  }

  /** Ends a claim whose slot does not run; `missed` when that is because nobody was there at its time. */
  async dropClaimed(claim: ClaimToken, missed: MissedSlot | undefined): Promise<void> {
    let conclusion: Conclusion | undefined;
    const isHeld = await this.#context.store.complete(claim, (state) => {
      conclusion = dropSlot(this.input(claim, state), missed === undefined ? {} : countMissed(state, missed));
      return conclusion.patch;
    });
    if (isHeld && conclusion !== undefined) this.#tellDropped(claim, missed, conclusion);
  }

  /** What is needed to plan a schedule, as it is defined now, or was when it was left to others. */
  input(key: ScheduleKey, state: ScheduleState): PlanningInput {
    const { clock, roster, random } = this.#context;
    const schedule = roster.find(key)?.schedule ?? this.#gone.find(key);
    const isPlannedByOthers = schedule !== undefined && this.#isPlannedByOthers(schedule);
    return { now: clock.now(), schedule, state, random, isPlannedByOthers };
  }

  tell(key: ScheduleKey, { plan, problem }: PlanNews): void {
    if (problem !== undefined) this.#context.log.warn(`Planning ${nameOf(key)}: ${problem}.`);
    this.#tellPlan(key, plan);
  }

  skip(
    { agent, schedule }: ScheduleKey,
    reason: SkippedSlot["reason"] | "unsupported_type" | "no_work",
    slot?: Date,
  ): void {
    const { log, events } = this.#context;
    log.debug?.(`Skipping ${nameOf({ agent, schedule })}${timeOf(slot)}: ${reason}`);
    events.emit("schedule:skipped", { agent, schedule, reason, slot });
  }

  /** An edit of the next run by hand is an order, whatever the schedule says; taking it away asks for a new plan. */
  async #honour(key: ScheduleKey): Promise<void> {
    let plan: Plan | undefined;
    await this.#context.store.update(key, (state) => {
      const atMs = state.claim == null ? isoTimeMs(state.next_run_at) : undefined;
      plan = atMs === undefined ? undefined : { nextRunAt: new Date(atMs), source: "manual" };
      return plan === undefined ? {} : planPatch(plan);
    });
    if (plan === undefined) await this.change(key, () => ({}));
    else this.#tellPlan(key, plan);
  }

  /** In one write: a promise for each of a hundred thousand plans would cost more than the plans. */
  #adoptTogether(keys: readonly ScheduleKey[]): Promise<void> {
    const together = async (): Promise<void> => {
      const conclusions: (Conclusion | undefined)[] = keys.map(() => undefined);
      await this.#context.store.updateAll(keys, (state, index) => {
        const key = keys[index];
        const conclusion = key && this.#adopted(key, state);
        conclusions[index] = conclusion;
        return conclusion?.patch ?? {};
      });
      for (const [index, key] of keys.entries()) {
        const conclusion = conclusions[index];
        if (conclusion !== undefined) this.tell(key, conclusion);
      }
    };
    return this.#writes.writeTogether(keys, together, (key) => this.#adopt(key));
  }

  async #adopt(key: ScheduleKey): Promise<void> {
    let conclusion: Conclusion | undefined;
    await this.#context.store.update(key, (state) => {
      conclusion = this.#adopted(key, state);
      return conclusion?.patch ?? {};
    });
    if (conclusion !== undefined) this.tell(key, conclusion);
  }

  /** The plan to go by from now on; `undefined` when the one in the state stays, or is made when its job ends. */
  #adopted(key: ScheduleKey, state: ScheduleState): Conclusion | undefined {
    const { now, schedule, random, isPlannedByOthers } = this.input(key, state);
    if (schedule === undefined || isPlannedByOthers === true) return undefined;
    // Whose job runs may be one who has it by hand only, and leaves at its end the plan that is there.
    const isPlannedAtEnd = !this.#isShared || state.next_run_at != null;
    if (state.claim != null && isPlannedAtEnd) return undefined;
    return adoptPlan({ now, schedule, state, random });
  }

  /** One that is started by hand only here may be run at its times by others who share the store. */
  #isPlannedByOthers(schedule: Schedule): boolean {
    return this.#isShared && !isAutomatic(schedule);
  }

  get #isShared(): boolean {
    return this.#context.store.isShared === true;
  }

  /** The plan is not ours alone: what may be claimed here the store knows by its definition. */
  #leave(gone: readonly ScheduleKey[], before: Roster): void {
    this.#gone.note(gone, before, this.#hasJob);
    this.#writes.forget(gone);
  }

  #unplanAll(gone: readonly ScheduleKey[]): Promise<void> {
    return this.#writes.writeAll(gone.map((key) => ({ key, write: () => this.#unplan(key) })));
  }

  async #unplan(key: ScheduleKey): Promise<void> {
    await this.#context.store.update(key, (state) => (state.claim == null ? planPatch(undefined) : {}));
  }

  async #dropWaiting(key: ScheduleKey, slot: Date, missed: MissedSlot | undefined): Promise<void> {
    let conclusion: Conclusion | undefined;
    await this.#context.store.update(key, (state) => {
      conclusion = undefined;
      // Somebody has claimed or moved it meanwhile.
      if (state.claim != null || isoTimeMs(state.next_run_at) !== slot.getTime()) return {};
      const input = this.input(key, state);
      conclusion =
        missed === undefined ? dropBusySlot(input, slot) : dropSlot(input, countMissed(state, missed));
      return conclusion.patch;
    });
    if (conclusion !== undefined) this.#tellDropped(key, missed, conclusion);
  }

  #tellDropped(
    { agent, schedule }: ScheduleKey,
    missed: MissedSlot | undefined,
    conclusion: Conclusion,
  ): void {
    const { log, events } = this.#context;
    const key = { agent, schedule };
    if (missed !== undefined) {
      const { slot, lateMs, graceMs } = missed;
      log.warn(
        `${nameOf(key)} missed its run at ${slot.toISOString()}: it was found ${lateMs} ms late, ${graceMs} ms are allowed.`,
      );
      events.emit("schedule:missed", { agent, schedule, slot, lateMs, graceMs });
    }
    this.tell(key, conclusion);
  }

  #tellPlan({ agent, schedule }: ScheduleKey, plan: Plan | undefined): void {
    const { log, events } = this.#context;
    log.debug?.(`${nameOf({ agent, schedule })}: ${describe(plan)}`);
    if (!events.isHeard("schedule:planned")) return;
    events.emit("schedule:planned", { agent, schedule, nextRunAt: plan?.nextRunAt, source: plan?.source });
  }

  #tellWhyNot(key: ScheduleKey, { status }: ScheduleState): void {
    const entry = this.#context.roster.find(key);
    if (entry !== undefined && !isAutomatic(entry.schedule)) this.skip(key, "unsupported_type");
    else if (status === "disabled") this.skip(key, "disabled");
  }

  #dueMs({ next_run_at, next_run_source }: ScheduleState): number | undefined {
    const atMs = isoTimeMs(next_run_at);
    const isDue = atMs !== undefined && atMs <= this.#context.clock.now().getTime();
    return isDue && next_run_source !== "paused" ? atMs : undefined;
  }
}

/** Whether a plan may depend on what a key says. */
function isPlannedBy(key: keyof ScheduleState): boolean {
  return key !== "request" && key !== "request_answer";
}

function timeOf(slot: Date | undefined): string {
  return slot === undefined ? "" : ` at ${slot.toISOString()}`;
}

function describe(plan: Plan | undefined): string {
  return plan === undefined ? "no next run" : `next run at ${plan.nextRunAt.toISOString()} (${plan.source})`;
}

function countMissed(state: ScheduleState, { slot }: MissedSlot): ScheduleStatePatch {
  return { missed_count: (state.missed_count ?? 0) + 1, last_missed_at: slot.toISOString() };
}
