/**
 * Keeps the plans in the store: makes them when agents or states change, and emits what was planned. What a plan is
 * decided by is in governor.ts; every decision is made on the state as it is when it is written.
 */
import { isoTimeMs } from "../../iso-time.js";
import { backfillSlot, NO_SLOT } from "../../state/claim-rules.js";
import { isUndecided } from "../../state/recorded-end.js";
import { ScheduleMap } from "../../state/schedule-map.js";
import type { ScheduleState, ScheduleStatePatch } from "../../state/schedule-state.js";
import type { Claim, DefinedSchedule, OutsideChange, ScheduleKey, SkippedSlot } from "../../state/store.js";
import { adoptPlan, planUnplanned } from "./reconcile-plan.js";
import { type ClaimVerdict, isAskedFor, judgeClaim } from "./due-slot.js";
import { judgeSlot } from "./late-slot.js";
import type { UnrunSlots } from "./unrun-slots.js";
import {
  abandonSlot,
  type Conclusion,
  dropBusySlot,
  dropMissedSlot,
  planAfter,
  type PlanningInput,
  planPatch,
  stateAfterRecorded,
} from "./state-after-job.js";
import { RemovedSchedules } from "./removed-schedules.js";
import type { Plan } from "./governor.js";
import type { Roster } from "../roster.js";
import { isAutomatic, type Schedule } from "../timing/schedule.js";
import { type PlanWrite, PlanWrites } from "./plan-writes.js";
import { nameOf, type SchedulerContext } from "../context.js";

/** Two clocks are not read at the same instant, so a smaller difference does not mean that one was set back. */
const SMALLEST_SET_BACK_MS = 1_000;

/** A claimed slot that does not run, or not again: missed, given up, or only a time to plan again. */
export type LostSlot = Exclude<ClaimVerdict, { readonly action: "run" }> & Pick<Claim, "slot" | "heldUntil">;

type Lateness = Pick<Extract<ClaimVerdict, { readonly action: "miss" }>, "lateMs" | "graceMs">;
type PassedClaim = Pick<Claim, keyof ScheduleKey | "source" | "seenAt" | "claimedAt" | "heldUntil">;

/** What is told of slots: without `count`, of one that only waits. */
type ToldSlots = Pick<UnrunSlots, "slot"> & Partial<UnrunSlots>;

export class Planner {
  readonly #context: SchedulerContext;
  readonly writes: PlanWrites;
  readonly #removed = new RemovedSchedules();
  /** The schedules that a different node plans. */
  #plannedElsewhere = new ScheduleMap<true>();
  readonly #hasJob: (key: ScheduleKey) => boolean;
  /** By how much the wall clock led the monotonic one at the last pass, or later when a plan was made: the most. */
  #leadMs = -Infinity;

  /** `hasJob`: whether a job of a schedule runs here. */
  constructor(context: SchedulerContext, hasJob: (key: ScheduleKey) => boolean) {
    this.#context = context;
    this.writes = new PlanWrites(context);
    this.#hasJob = hasJob;
  }

  /** Replaces the roster: plans schedules that are new, and keeps the plans in the state that still hold. */
  async adopt(roster: Roster): Promise<void> {
    const before = this.#context.roster;
    const definitions = roster.definitions();
    const { schedules } = definitions;
    // Before the store knows it: a change that is decided meanwhile must not plan a schedule that is removed.
    this.#context.roster = roster;
    this.#plannedElsewhere = new ScheduleMap();
    for (const key of schedules) if (key.isAutomatic === false) this.#plannedElsewhere.set(key, true);
    let defined: readonly DefinedSchedule[];
    try {
      defined = await this.#context.store.define(definitions);
    } catch (error) {
      this.#context.roster = before;
      throw error;
    }
    const removed = before.definitions().schedules.filter((key) => roster.find(key) === undefined);
    this.#removed.note(removed, before, this.#hasJob);
    this.writes.forget(removed);
    this.#plannedElsewhere = new ScheduleMap();
    for (const [index, key] of schedules.entries()) {
      const found = defined[index];
      if (found?.isPlannedHere === false) this.#plannedElsewhere.set(key, true);
      if (found !== undefined) this.#tellWhyNot(key, found.state);
    }
    await this.#adoptTogether(schedules);
  }

  /**
   * Whether the clock was set back since the last call, or since a plan was made after that: such plans would have to wait
   * until the clock shows their times again.
   */
  wasSetBack(): boolean {
    const leadMs = this.#lead(this.#context.clock.now());
    const backMs = Math.round(this.#leadMs - leadMs);
    this.#leadMs = leadMs;
    if (backMs < SMALLEST_SET_BACK_MS) return false;
    this.#context.log.warn(`The clock was set back by ${backMs} ms: every schedule is planned again.`);
    return true;
  }

  /** Checks every plan again, as if it had just been found. */
  adoptAll(): Promise<void> {
    return this.#adoptTogether(this.#context.roster.definitions().schedules);
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
    let dropped: ToldSlots | undefined;
    let wasPaused = false;
    const state = await this.#context.store.update(key, (current) => {
      const changes = decide(current);
      const after = { ...current, ...changes };
      conclusion = undefined;
      dropped = undefined;
      const dueMs = this.#dueMs(after);
      const isPaused = (isoTimeMs(after.paused_until) ?? -Infinity) > this.#context.clock.now().getTime();
      wasPaused = isPaused || current.next_run_source === "paused";
      const input = this.input(key, current);
      const isRemoved = this.#context.roster.find(key) === undefined;
      const isLeft = isRemoved || after.claim != null || input.isPlannedHere === false;
      if (isLeft || (dueMs !== undefined && !isPaused)) return changes;
      if (dueMs !== undefined && backfillSlot(after) === undefined)
        dropped = { slot: new Date(isoTimeMs(after.retry?.slot) ?? dueMs) };
      const isUnplanned = after.next_run_at == null && after.retry == null && after.status !== "disabled";
      if (isUndecided(after)) conclusion = stateAfterRecorded(input, changes);
      else if (isUnplanned) conclusion = planUnplanned(input, changes, { isAdopted: false });
      else conclusion = planAfter(input, changes);
      dropped = conclusion.unrun ?? dropped;
      return conclusion.patch;
    });
    if (dropped !== undefined) this.skip(key, wasPaused ? "paused" : "disabled", dropped);
    if (conclusion !== undefined) this.tell(key, conclusion);
    return state;
  }

  /** Disables a schedule: its open slot is not run. */
  async disable(key: ScheduleKey, disabled: (state: ScheduleState) => ScheduleStatePatch): Promise<void> {
    let unrun: UnrunSlots | undefined;
    await this.#context.store.update(key, (state) => {
      const changes = disabled(state);
      const input = this.input(key, state);
      const conclusion = state.claim == null ? planAfter(input, changes) : undefined;
      unrun = conclusion?.unrun;
      return conclusion?.patch ?? changes;
    });
    this.skip(key, "disabled", unrun);
  }

  /** Plans again what was changed in the state from outside. */
  async noteOutside(changes: readonly OutsideChange[]): Promise<void> {
    const known = changes.filter((change) => {
      if (this.#context.roster.find(change) === undefined) return false;
      const { keys } = change;
      return this.#isPlannedHere(change) ? keys.length > 0 : keys.includes("next_run_at");
    });
    await this.writes.writeAll(
      known.map(({ agent, schedule, keys }) => {
        const key = { agent, schedule };
        if (keys.includes("next_run_at")) return { key, write: () => this.#honour(key) };
        // A slot from before the schedule was disabled does not count.
        const isFresh = keys.includes("status");
        const decide = ({ claim }: ScheduleState): ScheduleStatePatch =>
          isFresh && claim == null ? NO_SLOT : {};
        return { key, write: () => this.change(key, decide) };
      }),
    );
  }

  /** Drops slots that would have to wait, where they were missed or their schedule says so. Returns whether any was. */
  async noteWaiting(slots: readonly SkippedSlot[]): Promise<boolean> {
    const plans: PlanWrite[] = [];
    for (const { agent, schedule: name, slot, source, reason } of slots) {
      const key = { agent, schedule: name };
      const schedule = this.#context.roster.find(key)?.schedule;
      if (schedule === undefined) continue;
      const seenAt = this.#context.clock.now();
      const { action } = judgeClaim({ slot, source, seenAt }, schedule);
      const isUnwanted = "when_busy" in schedule && schedule.when_busy === "skip" && !isAskedFor(source);
      // The end of a pause is not a slot, and planning takes no capacity.
      if (action === "run" && !isUnwanted) this.skip(key, reason, { slot });
      else
        plans.push({
          key,
          write: () => this.#dropWaiting({ ...key, slot, source, seenAt, reason }, isUnwanted),
        });
    }
    await this.writes.writeAll(plans);
    return plans.length > 0;
  }

  /** The state after a slot that does not run. */
  dropped(key: ScheduleKey, state: ScheduleState, lost: LostSlot): Conclusion {
    const input = this.input(key, state);
    return lost.action === "abandon" ? abandonSlot(input) : dropMissedSlot(input, lost.latest);
  }

  /** What is needed to plan a schedule, as it is defined now, or was when it was removed. */
  input(key: ScheduleKey, state: ScheduleState): PlanningInput {
    const { clock, roster, random } = this.#context;
    const runs = roster.find(key);
    const schedule = runs?.schedule ?? this.#removed.find(key);
    const now = clock.now();
    this.#leadMs = Math.max(this.#leadMs, this.#lead(now));
    return {
      now,
      schedule,
      state,
      runs,
      random,
      isPlannedHere: this.#plannedElsewhere.get(key) === undefined,
    };
  }

  tell(key: ScheduleKey, { plan, problem }: Omit<Conclusion, "patch">): void {
    const { log, events } = this.#context;
    const { agent, schedule } = key;
    if (problem !== undefined) log.warn(`Planning ${nameOf(key)}: ${problem}.`);
    log.debug?.(`${nameOf(key)}: ${describe(plan)}`);
    if (!events.isHeard("schedule:planned")) return;
    events.emit("schedule:planned", { agent, schedule, nextRunAt: plan?.nextRunAt, source: plan?.source });
  }

  skip(
    { agent, schedule }: ScheduleKey,
    reason: SkippedSlot["reason"] | "unsupported_type" | "no_work",
    slots?: ToldSlots,
  ): void {
    const { log, events } = this.#context;
    log.debug?.(`Skipping ${nameOf({ agent, schedule })}${timesOf(slots)}: ${reason}`);
    events.emit("schedule:skipped", { agent, schedule, reason, ...slots });
  }

  /** An edit of `next_run_at` is an order, whatever the schedule says; removing it asks for a new plan. */
  async #honour(key: ScheduleKey): Promise<void> {
    let plan: Plan | undefined;
    await this.#context.store.update(key, (state) => {
      const atMs = state.claim == null ? isoTimeMs(state.next_run_at) : undefined;
      plan = atMs === undefined ? undefined : { nextRunAt: new Date(atMs), source: "manual" };
      return plan === undefined ? {} : planPatch(plan);
    });
    if (plan === undefined) await this.change(key, () => ({}));
    else this.tell(key, { plan });
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
        if (conclusion !== undefined) this.tellAdopted(key, conclusion);
      }
    };
    return this.writes.writeTogether(keys, together, (key) => this.#adopt(key));
  }

  async #adopt(key: ScheduleKey): Promise<void> {
    let conclusion: Conclusion | undefined;
    await this.#context.store.update(key, (state) => {
      conclusion = this.#adopted(key, state);
      return conclusion?.patch ?? {};
    });
    if (conclusion !== undefined) this.tellAdopted(key, conclusion);
  }

  /** The plan to go by from now on; `undefined` when the one in the state stays, or is made when its job ends. */
  #adopted(key: ScheduleKey, state: ScheduleState): Conclusion | undefined {
    const { now, schedule, runs, random, isPlannedHere } = this.input(key, state);
    if (schedule === undefined || isPlannedHere === false) return undefined;
    // The job may run on a node where this schedule is manual-only; that node does not plan when it ends.
    if (state.claim != null && state.next_run_at != null) return undefined;
    return adoptPlan({ now, schedule, state, runs, random });
  }

  #lead(now: Date): number {
    return now.getTime() - this.#context.clock.monotonic();
  }

  #isPlannedHere(key: ScheduleKey): boolean {
    return this.#plannedElsewhere.get(key) === undefined;
  }

  async #dropWaiting(
    { reason, ...waiting }: SkippedSlot & { readonly seenAt: Date },
    isUnwanted: boolean,
  ): Promise<void> {
    const { agent, schedule: name, slot } = waiting;
    const key = { agent, schedule: name };
    let conclusion: Conclusion | undefined;
    let verdict: ClaimVerdict | undefined;
    await this.#context.store.update(key, (state) => {
      conclusion = undefined;
      const input = this.input(key, state);
      const { schedule } = input;
      // It was claimed or moved meanwhile.
      const isGone = state.claim != null || isoTimeMs(state.next_run_at) !== slot.getTime();
      if (isGone || schedule === undefined) return {};
      verdict = judgeClaim({ ...waiting, state }, schedule);
      if (verdict.action === "run" && !isUnwanted) return {};
      conclusion =
        verdict.action === "run" ? dropBusySlot(input, slot) : this.dropped(key, state, { ...verdict, slot });
      return conclusion.patch;
    });
    if (conclusion === undefined) return verdict === undefined ? undefined : this.skip(key, reason, { slot });
    if (verdict?.action === "run") {
      this.skip(key, reason, conclusion.unrun ?? { slot });
      this.tell(key, conclusion);
    } else if (verdict !== undefined) this.tellDropped(key, { ...verdict, slot }, conclusion);
  }

  tellDropped({ agent, schedule }: ScheduleKey, lost: LostSlot, conclusion: Conclusion): void {
    const { log, events } = this.#context;
    const key = { agent, schedule };
    const { unrun } = conclusion;
    if (lost.action === "abandon") {
      const { slot, attempts } = lost;
      const times = attempts === 1 ? "1 attempt" : `${attempts} attempts`;
      log.warn(
        `${nameOf(key)} gave up its run of ${slot.toISOString()} after ${times}: the process that ran it ended each time.`,
      );
      events.emit("schedule:abandoned", { agent, schedule, slot, attempts });
      if (unrun !== undefined) this.skip(key, "already_running", unrun);
    } else if (unrun !== undefined && lost.action === "miss" && lost.heldUntil === undefined)
      this.#tellMissed(key, unrun, lost);
    // The end of a pause, of the schedule or of its agent.
    else if (unrun !== undefined) this.skip(key, "paused", unrun);
    this.tell(key, conclusion);
  }

  /** The plan of a schedule whose plan did not hold, and the slots that passed before. */
  tellAdopted(key: ScheduleKey, conclusion: Conclusion): void {
    if (conclusion.unrun !== undefined) this.#tellMissed(key, conclusion.unrun);
    this.tell(key, conclusion);
  }

  /** Slots that passed before a job of the schedule ended. The reason is why the first of them was not run. */
  tellPassed(claim: PassedClaim, unrun: UnrunSlots, wasPaused: boolean): void {
    const { agent, schedule, source, seenAt, claimedAt, heldUntil } = claim;
    const key = { agent, schedule };
    const isBefore = unrun.slot <= claimedAt;
    if (isBefore && (wasPaused || heldUntil !== undefined)) this.skip(key, "paused", unrun);
    // They passed while the slot was tried.
    else if (source === "retry") this.skip(key, "already_running", unrun);
    else if (source !== "manual" && unrun.slot <= seenAt) this.#tellMissed(key, unrun);
    else this.skip(key, isBefore ? "at_capacity" : "already_running", unrun);
  }

  #tellMissed(key: ScheduleKey, unrun: UnrunSlots, judged?: Lateness): void {
    const { log, events, roster, clock } = this.#context;
    const { slot, lastSlot, count } = unrun;
    const { lateMs, graceMs } = judged ?? lateness(roster.find(key)?.schedule, slot, clock.now());
    const what =
      count === 1
        ? `its run at ${slot.toISOString()}`
        : `${count} runs, from ${slot.toISOString()} to ${lastSlot.toISOString()}`;
    const why =
      judged === undefined
        ? "passed before the scheduler looked at the schedule"
        : `was found ${lateMs} ms late, ${graceMs} ms are allowed`;
    log.warn(`${nameOf(key)} missed ${what}: ${count === 1 ? "it" : "the first"} ${why}.`);
    events.emit("schedule:missed", { ...key, slot, lastSlot, count, lateMs, graceMs });
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

function timesOf(slots: ToldSlots | undefined): string {
  if (slots === undefined) return "";
  const { slot, lastSlot = slot, count = 1 } = slots;
  return count === 1
    ? ` at ${slot.toISOString()}`
    : `, ${count} slots from ${slot.toISOString()} to ${lastSlot.toISOString()}`;
}

function lateness(schedule: Schedule | undefined, slotAt: Date, now: Date): Lateness {
  const lateMs = Math.max(0, now.getTime() - slotAt.getTime());
  if (schedule === undefined || schedule.type === "webhook" || schedule.type === "chat")
    return { lateMs, graceMs: 0 };
  return { lateMs, graceMs: judgeSlot({ now, schedule, slotAt }).graceMs };
}

function describe(plan: Plan | undefined): string {
  return plan === undefined ? "no next run" : `next run at ${plan.nextRunAt.toISOString()} (${plan.source})`;
}
