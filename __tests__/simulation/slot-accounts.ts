/**
 * Adds up the slots of every schedule: whenever a plan is replaced, what came due between the two ended as a run that was
 * seen, or is counted by that very write. Which slots there were is found by trying every second, and which of them ran
 * is known from the jobs, so that nothing here is taken from what the scheduler thinks of itself.
 */
import type { ScheduleKey } from "../../src/state/store.js";
import type { SimulatedSchedule } from "./random-fleet.js";
import type { SimulatedJob } from "./simulated-jobs.js";
import type { KnownState } from "./stores.js";
import type { World } from "./world.js";

export interface SlotAccountsOptions {
  readonly world: World;
  readonly isOnGrid: (schedule: SimulatedSchedule, atMs: number) => boolean;
  /** What a schedule was of late, as far as a scheduler may still go by it; empty when it is not defined. */
  readonly definitionsOf: (name: string) => readonly SimulatedSchedule[];
}

interface Owed {
  count: number;
  atMs: number;
}

const HOUR_MS = 3_600_000;

export class SlotAccounts {
  readonly #options: SlotAccountsOptions;
  /** The slots that jobs were started for, with the number of times that the clock had been set back. */
  readonly #runs = new Map<string, number>();
  /** Until when the grid times of a schedule whose plan is not a slot are counted. */
  readonly #openSince = new Map<string, number>();
  /** Counted slots that were not told yet. */
  readonly #owed = new Map<string, Owed[]>();
  readonly #perHour = new Map<string, number>();

  constructor(options: SlotAccountsOptions) {
    this.#options = options;
  }

  started({ key, info }: SimulatedJob): void {
    const { slot, source } = info.job;
    this.#runs.set(`${key} ${slot}${source === "manual" ? " manual" : ""}`, this.#options.world.passing);
  }

  /** Across a crash nothing is owed. */
  crashed(): void {
    this.#owed.clear();
  }

  told({ agent, schedule, count = 0 }: ScheduleKey & { readonly count?: number | undefined }): void {
    const owed = this.#owed.get(`${agent}/${schedule}`) ?? [];
    // The latest first: what was owed before it may be excused by a fault.
    for (let left = count; left > 0 && owed.length > 0;) {
      const latest = owed.at(-1);
      if (latest === undefined || latest.count > left) {
        if (latest !== undefined) latest.count -= left;
        return;
      }
      left -= latest.count;
      owed.pop();
    }
  }

  /** To be called when everything has acted and nothing is under way. */
  checkTold(): void {
    const { world } = this.#options;
    for (const [name, owed] of this.#owed)
      for (const { count, atMs } of owed)
        if (world.lastFaultMs < atMs)
          world.fail("every skip is told", `${count} counted slots of ${name} were not told`);
    this.#owed.clear();
  }

  changed(name: string, before: KnownState, after: KnownState): void {
    const { world, definitionsOf } = this.#options;
    const told = (after.missed_count ?? 0) - (before.missed_count ?? 0);
    // A slot that is kept to be counted later is as good as counted.
    const counted = told + keptBeside(after) - keptBeside(before);
    if (told > 0) {
      const owed = this.#owed.get(name) ?? [];
      owed.push({ count: told, atMs: world.nowMs });
      this.#owed.set(name, owed);
    }
    const isSame =
      before.next_run_at === after.next_run_at &&
      before.next_run_source === after.next_run_source &&
      before.accounted_until === after.accounted_until;
    // What is kept to be tried again is open, and no definition decides what else is given up for it.
    if (after.retry != null && !isSame && !this.#isEdit(before, after)) {
      this.#noteBeside(name, before, after);
      return this.#check(name, { before, after, counted }, this.#besides(before));
    }
    const definitions = definitionsOf(name);
    // A schedule that is not defined has no slots. While a process starts, nothing is defined.
    if (definitions.length === 0) {
      if (after.accounted_until == null) this.#openSince.delete(name);
      // The last write of a process that died.
      else this.#openSince.set(name, Date.parse(after.accounted_until));
      return;
    }
    if (isSame) {
      if (after.status === "disabled") this.#openSince.delete(name);
      return this.#noteUnexplained(name, counted);
    }
    if (this.#isEdit(before, after)) return;
    const expected = new Set<number>();
    for (const schedule of definitions)
      for (const count of this.#expected(name, schedule, before, after)) expected.add(count);
    const hasGrid = definitions.some(({ type }) => type === "cron");
    this.#noteOpen(name, before, after, hasGrid);
    this.#check(name, { before, after, counted }, expected);
  }

  #check(
    name: string,
    { before, after, counted }: Readonly<Record<"before" | "after", KnownState> & { counted: number }>,
    expected: ReadonlySet<number>,
  ): void {
    if (expected.has(counted)) return;
    const plans = [before, after].map(
      ({ next_run_at, next_run_source, accounted_until }) =>
        `${next_run_at} (${next_run_source}, ${accounted_until})`,
    );
    this.#options.world.fail(
      "every slot is a run or a counted skip",
      `${name} from ${plans.join(" to ")} counts ${counted}, expected ${[...expected].join(" or ")}`,
    );
  }

  #noteUnexplained(name: string, counted: number): void {
    if (counted !== 0)
      this.#options.world.fail(
        "every slot is a run or a counted skip",
        `${name} counts ${counted} beside its plan`,
      );
  }

  /** Written by somebody with an editor, at this very moment. */
  #isEdit(before: KnownState, after: KnownState): boolean {
    const { world } = this.#options;
    const keys = ["next_run_source", "accounted_until", "missed_count"] as const;
    const isOther =
      before.claim?.token !== after.claim?.token || keys.some((key) => before[key] !== after[key]);
    return world.lastEditMs === world.nowMs && !isOther;
  }

  /** A planned time that came due beside a job on request is given up for the slot that is kept. */
  #besides({ claim, retry, backfill, next_run_at, next_run_source }: KnownState): ReadonlySet<number> {
    const { world } = this.#options;
    const isKept = ["paused", "once", "retry", "baseline-cron"].includes(next_run_source ?? "paused");
    const isOwn = next_run_source === "manual" && (next_run_at === claim?.slot || backfill != null);
    if (claim?.source !== "manual" || retry != null || isKept || isOwn) return new Set([0]);
    return new Set([Date.parse(next_run_at ?? "") <= world.clock.wallMs ? 1 : 0]);
  }

  /** From when the grid times count, where one waited already when a job was requested. */
  #noteBeside(
    name: string,
    { claim, retry, next_run_at, next_run_source }: KnownState,
    after: KnownState,
  ): void {
    if (claim?.source === "manual" && retry == null && next_run_source === "baseline-cron") {
      const plannedMs = Date.parse(next_run_at ?? "");
      if (plannedMs < Date.parse(claim.slot) && !this.#openSince.has(name))
        this.#openSince.set(name, plannedMs - 1);
    }
    if (after.accounted_until == null) this.#openSince.delete(name);
  }

  /** `hasGrid`: only the times of a cron schedule pass while it has no plan. */
  #noteOpen(name: string, before: KnownState, after: KnownState, hasGrid: boolean): void {
    // An order, and a slot that is tried again, come before what is still to be counted.
    if (after.next_run_source === "manual" || after.next_run_source === "retry") return;
    const isSlot = after.next_run_at != null && after.next_run_source !== "paused";
    if (isSlot || after.status === "disabled") return void this.#openSince.delete(name);
    const pausedMs = Date.parse(after.accounted_until ?? "");
    if (after.next_run_source === "paused") this.#openSince.set(name, pausedMs);
    else if (hasGrid) this.#openSince.set(name, Date.parse(before.claim?.slot ?? before.next_run_at ?? ""));
    else this.#openSince.delete(name);
  }

  /** How many slots this write must count; several where it depends on what a moment ago was. */
  #expected(
    name: string,
    schedule: SimulatedSchedule,
    before: KnownState,
    after: KnownState,
  ): readonly number[] {
    const { world, isOnGrid } = this.#options;
    const retried = before.retry?.slot;
    if (schedule.type === "once" && retried != null && after.next_run_at == null) {
      const onceMs = Date.parse(schedule.at ?? "");
      const isPassed = onceMs > Date.parse(retried) && onceMs <= world.clock.wallMs;
      if (isPassed) return [1];
    }
    const plannedMs = Date.parse(retried ?? before.next_run_at ?? "");
    const nextMs = Date.parse(after.next_run_at ?? "");
    const sinceMs = this.#openSince.get(name);
    const isCron = schedule.type === "cron";
    const lateMs =
      Math.max(world.lastJumpMs, world.lastSlowMs, world.lastFaultMs) > world.nowMs - 60_000 ? 60_000 : 0;
    const dues = [plannedMs <= world.clock.wallMs];
    if (lateMs > 0 && !Number.isNaN(plannedMs)) dues.push(true, false);
    const counts = new Set<number>();
    for (const isDue of dues)
      for (const endMs of this.#gridEnds(schedule, after, nextMs)) {
        const grid = (fromMs: number | undefined, untilMs: number): number =>
          isCron && fromMs !== undefined ? this.#count(schedule, fromMs, Math.min(untilMs, endMs)) : 0;
        if (!isDue) {
          counts.add(grid(sinceMs, Infinity));
          continue;
        }
        const isKept =
          nextMs === plannedMs || (schedule.type === "once" && after.next_run_source === "paused");
        if (isKept) counts.add(0);
        else {
          const isSlot = before.next_run_source !== "paused" || (isCron && isOnGrid(schedule, plannedMs));
          const isOrder = before.next_run_source === "manual" && retried === undefined;
          const fromMs = isOrder ? Date.parse(before.claim?.claimed_at ?? "") : plannedMs;
          const rest = grid(sinceMs, plannedMs - 1) + (Number.isNaN(fromMs) ? 0 : grid(fromMs, Infinity));
          for (const own of this.#own(name, plannedMs, isOrder, retried !== undefined))
            counts.add(rest + (isSlot ? own : 0));
        }
      }
    return [...counts];
  }

  /** 0 when the slot was run, 1 when it was not. */
  #own(name: string, slotMs: number, isOrder: boolean, isRetried: boolean): readonly number[] {
    if (isRetried) return [0];
    const slot = `${name} ${new Date(slotMs).toISOString()}`;
    const passings = [this.#runs.get(slot), this.#runs.get(`${slot} manual`)];
    const ran = isOrder ? (passings[1] ?? passings[0]) : passings[0];
    if (ran === undefined) return [1];
    // After a clock was set back the same time may come again.
    return ran === this.#options.world.passing ? [0] : [0, 1];
  }

  /** Up to when grid times count. Limits and hints that replace them take them away. */
  #gridEnds(schedule: SimulatedSchedule, after: KnownState, nextMs: number): readonly number[] {
    const source = after.next_run_source;
    if (after.status === "disabled" || Number.isNaN(nextMs)) return [-Infinity];
    if (source === "baseline-cron" || source === "ai-oneshot") return [nextMs - 1];
    if (source !== "paused") return [-Infinity];
    const pausedMs = Date.parse(after.accounted_until ?? "");
    const mayBeReplaced =
      schedule.min_interval !== undefined ||
      schedule.max_interval !== undefined ||
      after.hint?.interval != null;
    return mayBeReplaced ? [pausedMs, -Infinity] : [pausedMs];
  }

  /** The grid times after one instant, up to and including a second one. */
  #count(schedule: SimulatedSchedule, afterMs: number, untilMs: number): number {
    if (!(afterMs < untilMs)) return 0;
    const wholeHours = Math.floor((untilMs - afterMs) / HOUR_MS);
    // No expression here has an hour or a day in it.
    const hourly = wholeHours === 0 ? 0 : wholeHours * this.#countOfHour(schedule);
    return hourly + this.#countEach(schedule, afterMs + wholeHours * HOUR_MS, untilMs);
  }

  #countOfHour(schedule: SimulatedSchedule): number {
    const name = `${schedule.expression ?? schedule.cron} ${schedule.timezone}`;
    const known = this.#perHour.get(name) ?? this.#countEach(schedule, -1, HOUR_MS - 1);
    this.#perHour.set(name, known);
    return known;
  }

  #countEach(schedule: SimulatedSchedule, afterMs: number, untilMs: number): number {
    let count = 0;
    for (let atMs = (Math.floor(afterMs / 1000) + 1) * 1000; atMs <= untilMs; atMs += 1000)
      if (this.#options.isOnGrid(schedule, atMs)) count++;
    return count;
  }
}

/** Whether a slot of the state is still to be counted, because it came due beside a job on request that is tried again. */
function keptBeside({ retry }: KnownState): number {
  return retry?.beside == null ? 0 : 1;
}
