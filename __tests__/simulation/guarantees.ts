/**
 * What DESIGN.md promises, asked after every event. Each promise is checked against what the jobs themselves count, what
 * the store really holds, and an independent idea of time; never against what the scheduler says of itself, except where
 * that is the promise.
 */
import { isDeepStrictEqual } from "node:util";
import type { Scheduler } from "../../src/scheduler/scheduler.js";
import type { SchedulerEvents } from "../../src/scheduler/events.js";
import type { EndedJobRecord } from "../../src/state/job-log/job-log.js";
import type { ScheduleKey } from "../../src/state/store.js";
import { matches, readFields, wallClock } from "../oracle/cron-oracle.js";
import { AcknowledgedChanges } from "./acknowledged.js";
import { SlotAccounts } from "./slot-accounts.js";
import {
  isValid,
  LONGEST_CRON_MS,
  secondsMs,
  type SimulatedAgent,
  type SimulatedSchedule,
} from "./random-fleet.js";
import {
  type JobWitness,
  type SimulatedJob,
  type SimulatedJobs,
  WITNESS,
  WITNESS_INTERVAL_MS,
} from "./simulated-jobs.js";
import type { KnownState, StateView, StateWitness } from "./stores.js";
import type { ProcessClock } from "./virtual-clock.js";
import type { World } from "./world.js";

/** The scheduler as it is now; another after a crash. */
export interface CurrentProcess {
  readonly clock: ProcessClock;
  readonly scheduler: Scheduler;
  readonly inner: StateView;
  /** From the call of `stop` to the next call of `start`. */
  isStopped: boolean;
  /** Since the last `start`. */
  starts: number;
}

interface LastRun {
  readonly startedMs: number;
  readonly claimedWallMs: number;
  readonly endedWallMs: number;
  readonly endedMs: number;
  readonly jobId: string;
  readonly hasFailed: boolean;
  /** Whether it counts as a failure: with `retries` that of the last try only. */
  isFailure: boolean;
}

interface GivenFleet {
  readonly atMs: number;
  readonly agents: readonly SimulatedAgent[];
}

export class Guarantees implements StateWitness, JobWitness {
  readonly acknowledged: AcknowledgedChanges = new AcknowledgedChanges();
  process: CurrentProcess | undefined;
  jobs: SimulatedJobs | undefined;
  /** The scheduler said that it could not record something. */
  hasGivenUp = false;
  readonly #world: World;
  readonly #fleets: GivenFleet[] = [];
  readonly #lastRuns = new Map<string, LastRun>();
  readonly #startedIds = new Set<string>();
  readonly #startedSlots = new Set<string>();
  /** Jobs whose final record is written. */
  readonly #recordedIds = new Set<string>();
  /** The tokens of claims whose write failed after its effect. */
  readonly #unheldTokens = new Set<string>();
  /** Jobs whose end changed the state of their schedule. */
  readonly #countedIds = new Set<string>();
  /** Jobs whose claim was given back while they may have run: the machine stood still for longer than its lease. */
  readonly #lostIds = new Set<string>();
  readonly #finished = new Set<string>();
  readonly #told = new Map<string, string>();
  readonly #skips = new Set<string>();
  /** All that was defined since the last start. */
  readonly #defined = new Set<string>();
  /** Whose claim ran out unused, with the plan it had. */
  readonly #ordered = new Set<string>();
  /** Jobs whose end nobody was told of yet. */
  readonly #untold = new Set<SimulatedJob>();
  readonly #lapsed = new Map<string, string>();
  readonly #attempts = new SlotAttempts();
  /** Slots that were given up whose event has not come. */
  #owedAbandons: { readonly slot: string; readonly atMs: number }[] = [];
  readonly accounts: SlotAccounts;
  /** Due slots that are gone: what became of them is told when that is written, and so before everything has settled. */
  readonly #replaced = new Set<string>();
  /** When the witness must start; `undefined` while something excuses it. */
  #beatAtMs: number | undefined;

  constructor(world: World) {
    this.#world = world;
    this.accounts = new SlotAccounts({
      world,
      isOnGrid,
      definitionsOf: (name) => this.#recentDefinitions(name),
    });
  }

  get fleet(): readonly SimulatedAgent[] {
    return this.#fleets.at(-1)?.agents ?? [];
  }

  givenFleet(agents: readonly SimulatedAgent[], isStart: boolean): void {
    // A start does not know what was defined before it.
    if (isStart) this.#defined.clear();
    this.#fleets.push({ atMs: this.#world.nowMs, agents });
    this.#world.lastRosterMs = this.#world.nowMs;
  }

  /**
   * The scheduler says that it could not record a result, which it may only say after a stop, of a store that fails. The
   * slot may run again, as across a crash.
   */
  gaveUp(message: string, isStopped: boolean): void {
    this.hasGivenUp = true;
    for (const slotName of isStopped ? this.#startedSlots : [])
      if (message.includes(` ${slotName.split(" ")[1]}:`)) this.#startedSlots.delete(slotName);
    if (!isStopped || this.#world.lastFaultMs < this.#world.nowMs - 2 * this.#world.checkMs)
      this.#world.fail("no result is lost", message);
  }

  /** Across a crash a slot may run again, and what was owed is owed by nobody. */
  crashed(): void {
    this.#startedSlots.clear();
    this.#owedAbandons = [];
    this.accounts.crashed();
    this.#replaced.clear();
    this.#untold.clear();
    this.#beatAtMs = undefined;
    this.acknowledged.forgetUnderWay();
  }

  /** Somebody has set the next run of a schedule by hand. */
  ordered(name: string, slot: string): void {
    this.#ordered.add(`${name} ${slot}`);
  }

  /** What excuses the witness for one beat. */
  excuseWitness(): void {
    this.#beatAtMs = undefined;
  }

  started(job: SimulatedJob): void {
    const { process } = this;
    const world = this.#world;
    this.accounts.started(job);
    const { info, key, name } = job;
    const { id, slot, source, attempt } = info.job;
    if (process === undefined || job.process !== process.clock)
      return world.fail("one owner", `${name} was started by a process that had been overtaken`);
    process.starts++;
    if (process.isStopped) world.fail("nothing starts after stop", `${name} of ${key}`);
    if (this.#startedIds.has(id))
      world.fail("one start per token", `${name} of ${key} has the id of another`);
    this.#startedIds.add(id);
    const slotName = `${world.passing} ${key} ${slot} ${source} ${attempt}`;
    if (source !== "manual" && this.#startedSlots.has(slotName))
      world.fail("one start per slot", `${name} of ${key} for ${slot}`);
    this.#startedSlots.add(slotName);
    this.#checkRoom(job, process);
    this.#checkState(job, process);
    if (source === "paused") world.fail("a pause is no slot", `${name} of ${key} at the end of one`);
    const wrong = this.#attempts.started(
      job,
      world.passing,
      this.#lapsed.get(key) === slot || this.hasGivenUp,
    );
    if (wrong !== undefined) world.fail("attempts at a slot count up", `${name} of ${key}: ${wrong}`);
    const isLapsed = this.#lapsed.get(key) === slot;
    if (source === "catch-up" && !isLapsed && world.wasCalmSince(Date.parse(slot ?? "")))
      world.fail("waiting is not lateness", `${name} of ${key} catches up though it was seen in time`);
    if (!this.#ordered.has(`${key} ${slot}`)) this.#checkTime(job);
    if (key === WITNESS) this.#checkBeat(name);
  }

  ended(job: SimulatedJob): void {
    if (job.process !== this.process?.clock) return;
    const { nowMs, clock } = this.#world;
    this.#untold.add(job);
    this.#lastRuns.set(job.key, {
      startedMs: job.startedMs,
      claimedWallMs: Date.parse(job.info.job.started_at),
      endedWallMs: clock.wallMs,
      endedMs: nowMs,
      jobId: job.info.job.id,
      hasFailed: job.end === "failed",
      isFailure: job.end === "failed" && job.info.definition.retries === undefined,
    });
    if (job.key === WITNESS) this.#beatAtMs = nowMs + WITNESS_INTERVAL_MS;
  }

  changed(key: ScheduleKey, before: KnownState, after: KnownState): void {
    const name = `${key.agent}/${key.schedule}`;
    const isCounted = (after.missed_count ?? 0) > (before.missed_count ?? 0);
    this.accounts.changed(name, before, after);
    const last = this.#lastRuns.get(name);
    // A slot that waits for a further try, and is dropped with its schedule, is no failure.
    const isLastTry = after.retry == null && (after.failure_count ?? 0) > (before.failure_count ?? 0);
    if (last?.hasFailed === true && before.claim?.job_id === last.jobId && after.claim == null && isLastTry)
      last.isFailure = true;
    const isAbandoned = (after.abandoned_count ?? 0) > (before.abandoned_count ?? 0);
    if (isAbandoned && isAboutRetry(before))
      this.#owedAbandons.push({ slot: `${name} ${before.retry?.slot}`, atMs: this.#world.nowMs });
    if (before.claim != null && after.claim == null && !this.#startedIds.has(before.claim.job_id)) {
      const isInterrupted = after.interrupted_count !== before.interrupted_count;
      const isGivenBack = after.next_run_at === before.next_run_at;
      const isNoSlot = before.claim.source === "paused" || before.claim.source === "manual";
      const isLapsed = this.#lapsed.get(name) === before.claim.slot;
      // By the job of the claim before, which continued under this one.
      const isContinued =
        after.last_job?.id !== before.last_job?.id && this.#startedIds.has(after.last_job?.id ?? "");
      const isExplained = isCounted || isAbandoned || isInterrupted || isGivenBack || isNoSlot || isLapsed;
      // The store ignores a claim that it does not hold, so its slot counts as one that was not claimed.
      if (!isExplained && this.#unheldTokens.has(before.claim.token))
        this.#checkReplaced(name, before, after);
      else if (!isExplained && !isContinued)
        this.#world.fail("every slot is accounted for", `${name} lost its claimed slot ${before.claim.slot}`);
    }
    const lost = slotLost(before, after);
    if (lost !== undefined) this.#world.fail("an interrupted slot keeps its time", `${name}: ${lost}`);
    if ((after.interrupted_count ?? 0) > (before.interrupted_count ?? 0)) {
      if (this.#recordedIds.has(before.claim?.job_id ?? ""))
        this.#world.fail("a recorded job is not run again", `${name} counts it as interrupted`);
    }
    // A job that failed may pause its schedule, which overrides what was said before it was written.
    if (before.claim != null && after.paused_until !== before.paused_until)
      this.acknowledged.forget(name, "paused_until");
    if (after.last_job != null) this.#countedIds.add(after.last_job.id);
    if (before.claim != null && after.claim == null && after.next_run_at === before.next_run_at) {
      this.#lapsed.set(name, after.next_run_at ?? "");
      this.#noteLost(name, before.claim);
    }
    if (before.claim == null && after.claim == null && !isCounted) this.#checkReplaced(name, before, after);
  }

  /** A process that stands still in the middle of a pass may lose its claims: their slots run again. */
  #noteLost(name: string, { job_id: jobId, slot }: NonNullable<KnownState["claim"]>): void {
    const { nowMs, lastJumpMs, leaseMs, passing } = this.#world;
    if (lastJumpMs < nowMs - leaseMs) return;
    this.#lostIds.add(jobId);
    for (const started of this.#startedSlots)
      if (started.startsWith(`${passing} ${name} ${slot} `)) this.#startedSlots.delete(started);
  }

  unheld(token: string): void {
    this.#unheldTokens.add(token);
  }

  left({ agent, schedule }: ScheduleKey): void {
    this.#world.fail("a stop frees claims that are not held", `${agent}/${schedule} is still claimed`);
  }

  recorded({ id, status }: EndedJobRecord): void {
    if (status !== "interrupted") this.#recordedIds.add(id);
  }

  completed(claim: { readonly token: string } & ScheduleKey, before: KnownState): void {
    if (before.claim?.token !== claim.token)
      this.#world.fail("one live claim", `${claim.agent}/${claim.schedule} was completed with a stale token`);
  }

  /** Says whether it is the witness's or nobody's fault when the witness is late. */
  checkAll(): void {
    const { process } = this;
    const world = this.#world;
    if (process === undefined) return;
    if (this.#beatAtMs !== undefined && world.nowMs > this.#beatAtMs) this.#checkBeat("no job");
    this.#owedAbandons = this.#owedAbandons.filter(({ atMs }) => world.lastFaultMs < atMs);
    const [abandoned] = this.#owedAbandons;
    if (abandoned !== undefined && world.callsUnderWay === 0)
      world.fail("every skip is told", `no schedule:abandoned for ${abandoned.slot}`);
    if (world.callsUnderWay === 0) {
      this.accounts.checkTold();
      this.#checkReplacedTold();
    }
    for (const key of process.inner.keys()) {
      const name = `${key.agent}/${key.schedule}`;
      const lost = this.acknowledged.lost(name, process.inner.peek(key));
      if (lost !== undefined) world.fail("no acknowledged update is lost", `${name}: ${lost}`);
    }
    if (!process.scheduler.isRunning() || process.isStopped || world.upSinceMs > world.nowMs) return;
    if (process.scheduler.getState().triggerCount !== process.starts)
      world.fail(
        "counters",
        `${process.scheduler.getState().triggerCount} starts counted, ${process.starts} seen`,
      );
    if (!world.isCalm(3)) return;
    this.#checkCounters(process);
    if (world.clock.nextWakeMs() !== 0) this.#checkPrompt(process);
    if (world.nowMs - Math.max(world.lastSlowMs, world.lastRosterMs) > 3 * world.checkMs)
      this.#checkPlans(process);
    this.#checkDropped(process);
    if (world.isCalm(4, world.leaseMs)) this.#checkClaims(process);
  }

  missed({ agent, schedule, slot }: SchedulerEvents["schedule:missed"]): void {
    const name = `${agent}/${schedule} ${slot.toISOString()}`;
    const isLapsed = this.#lapsed.get(`${agent}/${schedule}`) === slot.toISOString();
    if (!isLapsed && this.#world.wasCalmSince(slot.getTime()))
      this.#world.fail("waiting is not lateness", `${name} was missed though it was seen in time`);
  }

  abandoned({ agent, schedule, slot, attempts }: SchedulerEvents["schedule:abandoned"]): void {
    const name = `${agent}/${schedule} ${slot.toISOString()}`;
    this.#owedAbandons = this.#owedAbandons.filter((owed) => owed.slot !== name);
    if (attempts < MOST_INTERRUPTIONS && !this.#isAtMostOnce(`${agent}/${schedule}`))
      this.#world.fail(
        "an interrupted slot keeps its time",
        `${name} was given up after ${attempts} attempts`,
      );
  }

  skipped({ agent, schedule, slot }: SchedulerEvents["schedule:skipped"]): void {
    if (slot !== undefined) this.#skips.add(`${agent}/${schedule} ${slot.toISOString()}`);
  }

  finished({ job }: SchedulerEvents["job:finished"]): void {
    const known = this.jobs?.find(job.id);
    const name = known?.name ?? "an unknown job";
    if (this.#finished.has(job.id)) this.#world.fail("one final status per job", `${name} finished twice`);
    this.#finished.add(job.id);
    if (known !== undefined) this.#untold.delete(known);
    this.#told.set(job.id, job.status);
    // On a store that others share a job is told to end, or superseded, when its claim could not be renewed in time.
    const { lastFaultMs, lastSlowMs, lastJumpMs, nowMs, leaseMs } = this.#world;
    const isCutOff = job.status === "interrupted" && known?.info.signal.aborted === true;
    const mayBeCutOff = isCutOff && Math.max(lastFaultMs, lastSlowMs, lastJumpMs) > nowMs - 3 * leaseMs;
    const isSuperseded = job.status === "interrupted" && this.#lostIds.has(job.id);
    if (known?.end !== job.status && !mayBeCutOff && !isSuperseded)
      this.#world.fail("one final status per job", `${name} ended ${known?.end}, told as ${job.status}`);
    // A shared store keeps no last job in the state.
    const isCounted = this.process?.inner.isShared === true || this.#countedIds.has(job.id);
    if (job.status !== "interrupted" && !isCounted && !this.hasGivenUp)
      this.#world.fail("a result that is told counts", `${name} was told as ${job.status}`);
  }

  /** After the last stop, when everything has ended. */
  async checkEnd(): Promise<void> {
    const { process, jobs } = this;
    const world = this.#world;
    if (process === undefined || jobs === undefined) return;
    const { scheduler, inner, clock } = process;
    if (jobs.live(clock).length > 0 || scheduler.getTotalRunningJobCount() > 0)
      world.fail("counters return to zero", `${scheduler.getTotalRunningJobCount()} jobs after the end`);
    for (const { name } of this.fleet)
      if (scheduler.getRunningJobCount(name) > 0) world.fail("counters return to zero", `${name} has jobs`);
    if (clock.sleeping > 0) world.fail("timers are gone", `${clock.sleeping} sleeps after the end`);
    if (this.hasGivenUp) return;
    for (const key of inner.keys())
      if (inner.stored(key).claim != null || inner.stored(key).status === "running")
        world.fail("counters return to zero", `${key.agent}/${key.schedule} is claimed after the end`);
    for (const { id, status } of await inner.jobs.list({ limit: Infinity })) {
      const job = jobs.find(id);
      const expected = job?.process === clock ? (this.#told.get(id) ?? job.end) : undefined;
      // When a lease ends the record is closed for good, also where its job continues under the next claim.
      const isLost = status === "interrupted" && this.#lostIds.has(id);
      if (status === "running" || (expected !== undefined && status !== expected && !isLost))
        world.fail("one final status per job", `${job?.name} ended ${job?.end}, recorded as ${status}`);
    }
    for (const { name, info, process: owner } of jobs.all)
      if (owner === clock && (await inner.jobs.get(info.job.id)) === undefined)
        world.fail("one final status per job", `${name} has no record`);
  }

  #checkRoom({ info, key, name, process: clock }: SimulatedJob, { inner }: CurrentProcess): void {
    const world = this.#world;
    const live = this.jobs?.live(clock) ?? [];
    const agent = info.agent.name;
    const capacity = inner.definitions.find((known) => known.agent === agent)?.maxConcurrent ?? 1;
    const running = live.filter((job) => job.info.agent.name === agent).length;
    if (running >= capacity)
      world.fail("capacity of an agent", `${name} of ${key}: ${running + 1} jobs, ${capacity} allowed`);
    if (live.length >= world.maxConcurrent)
      world.fail(
        "capacity of the fleet",
        `${name} of ${key}: ${live.length + 1} jobs, ${world.maxConcurrent} allowed`,
      );
    const twin = live.find((job) => job.key === key);
    if (twin !== undefined) world.fail("no schedule twice at once", `${name} of ${key} beside ${twin.name}`);
  }

  #checkState({ info, key, name }: SimulatedJob, { inner }: CurrentProcess): void {
    const world = this.#world;
    const state = inner.peek({ agent: info.agent.name, schedule: info.scheduleName });
    if (state.claim?.job_id !== info.job.id)
      world.fail("a claim is durable before its job starts", `${name} of ${key}`);
    if (!world.isCalm(3)) return;
    if (world.nowMs - Math.max(world.lastSlowMs, world.lastRosterMs) > 3 * world.checkMs) {
      const defined = this.#definition(key);
      const expected = defined?.type === "cron" ? { timezone: "UTC", ...defined } : defined;
      if (!isDeepStrictEqual(expected, { ...info.definition }))
        world.fail("agents change at the next pass", `${name} of ${key} has an old definition`);
      const isPaused = Date.parse(state.paused_until ?? "") > world.clock.wallMs;
      if (info.job.source !== "manual" && isPaused) world.fail("a pause holds", `${name} of ${key}`);
      if (state.status === "disabled") world.fail("disabled holds", `${name} of ${key}`);
    }
  }

  #checkTime({ info, key, name, startedWallMs, startedMs }: SimulatedJob): void {
    const world = this.#world;
    const { source, slot } = info.job;
    const { definition: schedule } = info;
    const slotMs = Date.parse(slot ?? "");
    // A slot that is tried again keeps its time, also when the clock was set back since.
    if (source !== "retry" && slotMs > startedWallMs && world.lastJumpMs < startedMs - 1_000)
      world.fail("nothing starts early", `${name} of ${key} for ${slot}`);
    const isLapsed = this.#lapsed.get(key) === slot;
    if (source === "baseline-cron" && !isLapsed && (schedule.type !== "cron" || !isOnGrid(schedule, slotMs)))
      world.fail("cron starts are on the grid", `${name} of ${key} for ${slot}`);
    const last = this.#lastRuns.get(key);
    if (source !== "baseline-interval" || last === undefined || world.lastJumpMs >= last.startedMs) return;
    // The clock was set back while the claim of the last job was under way.
    if (last.claimedWallMs > last.endedWallMs) return;
    const given = this.#definitionsSince(key, last.endedMs);
    const waits = given.map(({ interval = "0s", on_failure: policy = "backoff" }) => {
      const factor = last.isFailure && policy === "backoff" ? 2 : 1;
      return secondsMs(interval) * factor;
    });
    const isFromStart = given.some(({ anchor }) => anchor === "start");
    const fromMs = isFromStart ? last.claimedWallMs : last.endedWallMs;
    if (startedWallMs < fromMs + Math.min(...waits))
      world.fail(
        "an interval counts from completion",
        `${name} of ${key} starts ${startedWallMs - fromMs} ms after the last, not ${Math.min(...waits)}`,
      );
  }

  #checkBeat(name: string): void {
    const world = this.#world;
    const atMs = this.#beatAtMs;
    this.#beatAtMs = undefined;
    if (atMs === undefined) return;
    const sinceMs = atMs - WITNESS_INTERVAL_MS;
    const lastTroubleMs = Math.max(world.lastFaultMs, world.lastSlowMs, world.lastJumpMs, world.upSinceMs);
    if (lastTroubleMs >= sinceMs - world.checkMs || world.callsUnderWay > 0 || world.maxConcurrent < Infinity)
      return;
    if (world.nowMs !== atMs)
      world.fail("nobody delays another", `the witness was due at ${atMs}, at ${world.nowMs} starts ${name}`);
  }

  #checkReplaced(name: string, before: KnownState, after: KnownState): void {
    const world = this.#world;
    const dueMs = Date.parse(before.next_run_at ?? "");
    const slot = new Date(before.retry?.slot ?? before.next_run_at ?? "");
    const isSlot =
      dueMs <= world.clock.wallMs && before.next_run_source !== "paused" && before.status !== "disabled";
    if (!isSlot || after.next_run_at === before.next_run_at) return;
    const recently = world.nowMs - 5 * world.checkMs;
    const troubledMs = Math.max(world.lastEditMs, world.lastRosterMs, world.lastFaultMs, world.lastJumpMs);
    const isTold = this.#skips.has(`${name} ${slot.toISOString()}`);
    const isAsked = this.acknowledged.isChanging(name);
    if (!isTold && !isAsked && troubledMs < recently && world.upSinceMs < recently)
      this.#replaced.add(`${name} ${slot.toISOString()}`);
  }

  #checkReplacedTold(): void {
    for (const slot of this.#replaced)
      if (!this.#skips.has(slot)) this.#world.fail("every slot is accounted for", `due and gone: ${slot}`);
    this.#replaced.clear();
  }

  #checkCounters({ scheduler, clock }: CurrentProcess): void {
    const live = this.jobs?.live(clock) ?? [];
    if (scheduler.getTotalRunningJobCount() !== live.length)
      this.#world.fail(
        "counters",
        `${scheduler.getTotalRunningJobCount()} jobs counted, ${live.length} running`,
      );
    for (const { name } of this.fleet) {
      const running = live.filter(({ info }) => info.agent.name === name).length;
      if (scheduler.getRunningJobCount(name) !== running)
        this.#world.fail(
          "counters",
          `${name}: ${scheduler.getRunningJobCount(name)} counted, ${running} running`,
        );
    }
  }

  /** Everything has acted and nothing is under way: what could run now will not before the next check. */
  #checkPrompt({ inner, scheduler }: CurrentProcess): void {
    const { clock, maxConcurrent } = this.#world;
    if (scheduler.getTotalRunningJobCount() >= maxConcurrent) return;
    const claimed = new Map<string, number>();
    for (const key of inner.keys())
      if (inner.peek(key).claim != null) claimed.set(key.agent, (claimed.get(key.agent) ?? 0) + 1);
    for (const { agent, schedule, maxConcurrent: capacity = 1, isAutomatic = true } of inner.definitions) {
      const state = inner.peek({ agent, schedule });
      // Where others share the store, times that were planned before it had none any more may be theirs.
      const isAsked = ["manual", "catch-up", "retry"].includes(state.next_run_source ?? "");
      if (!isAutomatic && !isAsked) continue;
      if (state.claim != null || state.status === "disabled" || (claimed.get(agent) ?? 0) >= capacity)
        continue;
      const dueMs = Math.max(
        Date.parse(state.next_run_at ?? ""),
        Date.parse(state.paused_until ?? new Date(0).toISOString()),
      );
      if (dueMs <= clock.wallMs)
        this.#world.fail(
          "what may run runs at once",
          `${agent}/${schedule} is due since ${state.next_run_at}`,
        );
    }
  }

  /** A slot that its schedule drops when busy is not there any more once that was said. */
  #checkDropped({ inner }: CurrentProcess): void {
    for (const { agent, schedule } of inner.definitions) {
      const name = `${agent}/${schedule}`;
      const { claim, next_run_at: slot, next_run_source: source } = inner.peek({ agent, schedule });
      const isAskedFor = ["first-run", "catch-up", "manual", "ai-oneshot", "retry"].includes(source ?? "");
      const isTold =
        slot != null && this.#skips.has(`${name} ${slot}`) && Date.parse(slot) <= this.#world.clock.wallMs;
      if (claim != null || isAskedFor || !isTold || this.#definition(name)?.when_busy !== "skip") continue;
      if (this.#world.wasCalmSince(Date.parse(slot)))
        this.#world.fail("a busy agent drops its slot", `${name} still has that of ${slot}`);
    }
  }

  /**
   * No silence: what runs by itself has a plan, and one that its definition explains. What is gone has none, unless others
   * may have it.
   */
  #checkPlans({ inner }: CurrentProcess): void {
    const world = this.#world;
    for (const key of inner.keys()) {
      const name = `${key.agent}/${key.schedule}`;
      const state = inner.peek(key);
      const isDefined = inner.definitions.some(
        ({ agent, schedule }) => agent === key.agent && schedule === key.schedule,
      );
      if (state.claim != null || this.acknowledged.isChanging(name)) continue;
      const isLapsed = this.#lapsed.get(name) === (state.next_run_at ?? "");
      if (isDefined) this.#defined.add(name);
      else if (inner.isShared !== true && this.#defined.has(name) && state.next_run_at != null && !isLapsed)
        world.fail("agents change at the next pass", `${name} is gone and has a plan`);
      const schedule = this.#definition(name);
      const isRecurring = schedule?.type === "interval" || schedule?.type === "cron";
      const isPaused = Date.parse(state.paused_until ?? "") > world.clock.wallMs;
      if (!isDefined || isLapsed || !isRecurring || isPaused || state.status === "disabled") continue;
      const inMs = Date.parse(state.next_run_at ?? "") - world.clock.wallMs;
      if (!(inMs <= longestWaitMs(schedule, state)) && state.next_run_source !== "manual")
        world.fail("no silence", `${name} runs next at ${state.next_run_at} (${state.next_run_source})`);
    }
  }

  #checkClaims({ inner, clock }: CurrentProcess): void {
    for (const { name, key } of this.#untold)
      this.#world.fail("every end is told", `${name} of ${key} has ended`);
    const live = new Set((this.jobs?.live(clock) ?? []).map(({ info }) => info.job.id));
    for (const key of inner.keys()) {
      const { claim } = inner.peek(key);
      if (claim != null && !live.has(claim.job_id))
        this.#world.fail("nothing stays blocked", `${key.agent}/${key.schedule} is claimed by nobody`);
    }
  }

  #isAtMostOnce(name: string): boolean {
    return this.#definitionsEver(name).some((given) => given.on_interrupt === "skip");
  }

  #definitionsEver(name: string): SimulatedSchedule[] {
    const [agent, schedule = ""] = name.split("/");
    return this.#fleets.flatMap(
      ({ agents }) => agents.find((known) => known.name === agent)?.schedules[schedule] ?? [],
    );
  }

  /** What the scheduler may still go by; nothing when its store does not have the schedule. */
  #recentDefinitions(name: string): SimulatedSchedule[] {
    const [agent, schedule = ""] = name.split("/");
    const { process } = this;
    const isDefined = process?.inner.definitions.some(
      (known) => known.agent === agent && known.schedule === schedule,
    );
    const current = this.#definition(name);
    if (isDefined !== true || current === undefined || !isValid(current)) return [];
    const sinceMs = this.#world.nowMs - 10 * this.#world.checkMs;
    const first = Math.max(
      0,
      this.#fleets.findLastIndex(({ atMs }) => atMs < sinceMs),
    );
    return this.#fleets
      .slice(first)
      .flatMap(({ agents }) => agents.find((known) => known.name === agent)?.schedules[schedule] ?? []);
  }

  #definition(name: string): SimulatedSchedule | undefined {
    const [agent, schedule = ""] = name.split("/");
    return this.fleet.find((known) => known.name === agent)?.schedules[schedule];
  }

  /**
   * All that a schedule was since a moment, and what it was then. Where it was gone by then and others may have it, what it
   * was before: a job that outlives its schedule leaves a plan for them.
   */
  #definitionsSince(name: string, sinceMs: number): SimulatedSchedule[] {
    const [agent, schedule = ""] = name.split("/");
    const given = this.#fleets.map(
      ({ agents }) => agents.find((known) => known.name === agent)?.schedules[schedule],
    );
    const then = this.#fleets.findLastIndex(({ atMs }) => atMs < sinceMs - 10 * this.#world.checkMs);
    const isShared = this.process?.inner.isShared === true;
    const first = isShared ? given.findLastIndex((known, at) => at <= then && known !== undefined) : then;
    return given
      .slice(Math.max(0, first))
      .flatMap((found) => (found?.type === "interval" && found.interval !== "0s" ? [found] : []));
  }
}

const MOST_DOUBLINGS = 5;
const MOST_INTERRUPTIONS = 5;
const LONGEST_RETRY_MS = 4 * 60_000;

/** Whether the claim that ends is one of the slot in `retry`, or there is none. */
function isAboutRetry({ claim, retry }: KnownState): boolean {
  return retry != null && (claim == null || claim.source === "retry");
}

/** What is wrong with the slot that an interruption leaves. */
export function slotLost(before: KnownState, after: KnownState): string | undefined {
  const { claim, retry } = before;
  const isInterrupted = (after.interrupted_count ?? 0) > (before.interrupted_count ?? 0);
  if (claim == null || after.claim != null || !isInterrupted) return undefined;
  const attempt = (claim.source === "retry" ? (retry?.attempt ?? 1) : 1) + 1;
  if (after.retry?.slot === claim.slot && after.retry.attempt === attempt) return undefined;
  return `${claim.slot}, attempt ${attempt} is due as ${after.retry?.slot}, attempt ${after.retry?.attempt}`;
}

/** The attempts at each slot, as the jobs tell them. */
export class SlotAttempts {
  readonly #latest = new Map<string, number>();

  /**
   * What is wrong with the attempt of a job that starts. `mayRepeat`: its claim was given back after an earlier start.
   * `passing`: a clock that was set back by more than a period shows the same slots again.
   */
  started({ key, info: { job } }: SimulatedJob, passing: number, mayRepeat: boolean): string | undefined {
    const { slot, attempt, trigger, source } = job;
    const name = `${passing} ${key} ${slot}`;
    const latest = this.#latest.get(name) ?? 0;
    this.#latest.set(name, Math.max(latest, attempt));
    const isRetry = source === "retry";
    if (isRetry !== (trigger === "retry") || isRetry !== attempt > 1)
      return `attempt ${attempt} is of ${trigger} because of ${source}`;
    if (attempt > latest || mayRepeat || source === "manual") return undefined;
    return `attempt ${attempt} at ${slot} follows attempt ${latest}`;
  }
}

function longestWaitMs(schedule: SimulatedSchedule, state: KnownState): number {
  const failures = (schedule.on_failure ?? "backoff") === "backoff" ? (state.failure_count ?? 0) : 0;
  const waitMs =
    schedule.type === "cron"
      ? LONGEST_CRON_MS
      : secondsMs(schedule.interval ?? "0s") *
        2 ** Math.min(failures, MOST_DOUBLINGS) *
        (1 + (schedule.jitter ?? 0) / 100);
  const hintMs = secondsMs(state.hint?.interval ?? "") || 0;
  const leastMs = schedule.min_interval === undefined ? 0 : secondsMs(schedule.min_interval);
  return Math.max(waitMs, hintMs, leastMs, state.next_run_source === "retry" ? LONGEST_RETRY_MS : 0);
}

const walls = new Map<string, (instant: number) => number>();

export function isOnGrid(
  {
    expression,
    cron,
    timezone,
  }: {
    readonly expression?: string | undefined;
    readonly cron?: string | undefined;
    readonly timezone?: string | undefined;
  },
  slotMs: number,
): boolean {
  const zone = timezone ?? "UTC";
  const show = walls.get(zone) ?? wallClock(zone);
  walls.set(zone, show);
  return slotMs % 1_000 === 0 && matches(readFields(expression ?? cron ?? ""), new Date(show(slotMs)));
}
