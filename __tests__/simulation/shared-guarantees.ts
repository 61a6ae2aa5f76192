/**
 * What is promised of several schedulers that share a store, asked of all of them together after every event. Who may end
 * whose claim, and capacity over all nodes, the mirror asks at each statement.
 */
import type { SchedulerEvents } from "../../src/scheduler/events.js";
import type { Scheduler } from "../../src/scheduler/scheduler.js";
import type { JobLog } from "../../src/state/job-log/job-log.js";
import type { ScheduleKey } from "../../src/state/store.js";
import { AcknowledgedChanges } from "./acknowledged.js";
import { isOnGrid, SlotAttempts, slotLost } from "./guarantees.js";
import type { BootedNode } from "./postgres-stores.js";
import type { SimulatedAgent, SimulatedSchedule } from "./random-fleet.js";
import type { JobWitness, SimulatedJob, SimulatedJobs } from "./simulated-jobs.js";
import { nameOf, type StateMirror } from "./state-mirror.js";
import type { KnownState, StateWitness } from "./stores.js";
import type { ProcessClock } from "./virtual-clock.js";
import type { World } from "./world.js";

export interface SimulatedNode {
  readonly name: string;
  readonly clock: ProcessClock;
  readonly scheduler: Scheduler;
  readonly booted: BootedNode;
  phase: "starting" | "up" | "stopping" | "stopped" | "dead";
  /** Since when it runs without having stood still; `Infinity` while it does not. */
  upSinceMs: number;
  /** When it last stood still. */
  stoodStillMs: number;
  /** From the call of `stop` to the next call of `start`. */
  isStopped: boolean;
  /** What it was given last. */
  fleet: readonly SimulatedAgent[];
}

export interface SharedGuaranteesOptions {
  readonly world: World;
  readonly jobs: () => SimulatedJobs;
  readonly nodes: () => readonly SimulatedNode[];
  readonly mirror: () => StateMirror;
}

export class SharedGuarantees implements JobWitness, StateWitness {
  readonly acknowledged: AcknowledgedChanges = new AcknowledgedChanges();
  readonly #options: SharedGuaranteesOptions;
  readonly #world: World;
  readonly #startedIds = new Set<string>();
  readonly #startedSlots = new Set<string>();
  readonly #attempts = new SlotAttempts();
  readonly #finished = new Set<string>();
  /** As which status the end of a job was told. */
  readonly #told = new Map<string, string>();
  readonly #skips = new Set<string>();
  /** Jobs whose claim was ended by somebody else, or by their own node as if nobody had it. */
  readonly #lostIds = new Set<string>();
  /** Slots whose claim was given back though a job of it may have begun. */
  readonly #givenBack = new Set<string>();
  /** Since when a schedule could be claimed by whoever knows it. */
  readonly #claimableMs = new Map<string, number>();
  /** Due slots that are gone, of which no node has told yet what became of them. */
  readonly #replaced = new Set<string>();
  /** Slots counted as not run of which no node has told, since when. */
  #owedMisses: { readonly slot: string; readonly atMs: number }[] = [];

  constructor(options: SharedGuaranteesOptions) {
    this.#options = options;
    this.#world = options.world;
  }

  started(job: SimulatedJob): void {
    const world = this.#world;
    const { info, key, name } = job;
    const { id, slot, source, attempt } = info.job;
    const node = this.#options.nodes().find(({ clock }) => clock === job.process);
    if (node === undefined || node.phase === "dead")
      return world.fail("the dead start nothing", `${name} of ${key}`);
    if (node.isStopped) world.fail("nothing starts after stop", `${name} of ${key} on ${node.name}`);
    if (this.#startedIds.has(id))
      world.fail("one start per token", `${name} of ${key} has the id of another`);
    this.#startedIds.add(id);
    const slotName = `${world.passing} ${key} ${slot} ${source} ${attempt}`;
    if (source !== "manual" && this.#startedSlots.has(slotName))
      world.fail("one start per slot", `${name} of ${key} for ${slot} on ${node.name}`);
    this.#startedSlots.add(slotName);
    const wrong = this.#attempts.started(job, world.passing, this.#givenBack.has(`${key} ${slot}`));
    if (wrong !== undefined) world.fail("attempts at a slot count up", `${name} of ${key}: ${wrong}`);
    this.#checkClaim(job, node);
    const slotMs = Date.parse(slot ?? "");
    if (source !== "retry" && slotMs > world.clock.wallMs && world.lastJumpMs < world.nowMs - 1_000)
      world.fail("nothing starts early", `${name} of ${key} for ${slot} on ${node.name}`);
    const { definition: schedule } = info;
    if (source === "baseline-cron" && (schedule.type !== "cron" || !isOnGrid(schedule, slotMs)))
      world.fail("cron starts are on the grid", `${name} of ${key} for ${slot} on ${node.name}`);
    if (source === "paused") world.fail("a pause is no slot", `${name} of ${key} at the end of one`);
  }

  ended(): void {}

  /** Who may complete is asked by the mirror, which knows who did. */
  completed(): void {}

  changed(key: ScheduleKey, before: KnownState, after: KnownState): void {
    const name = nameOf(key);
    const isCounted = (after.missed_count ?? 0) > (before.missed_count ?? 0);
    if (isCounted)
      this.#owedMisses.push({ slot: `${name} ${after.last_missed_at}`, atMs: this.#world.nowMs });
    if (before.claim != null && after.claim?.token !== before.claim.token)
      this.#checkEnd(name, before, after, isCounted);
    const lost = slotLost(before, after);
    if (lost !== undefined) this.#world.fail("an interrupted slot keeps its time", `${name}: ${lost}`);
    if (before.claim != null && after.paused_until !== before.paused_until)
      this.acknowledged.forget(name, "paused_until");
    if (before.claim == null && after.claim == null && !isCounted) this.#checkReplaced(name, before, after);
  }

  missed(node: SimulatedNode, event: SchedulerEvents["schedule:missed"]): void {
    const { slot } = event;
    const name = `${nameOf(event)} ${slot.toISOString()}`;
    this.#noteTold(event);
    const world = this.#world;
    const sinceMs = world.nowMs - (world.clock.wallMs - slot.getTime()) - 3 * world.checkMs;
    if (this.#steadyMs(node) < sinceMs && world.lastRosterMs < sinceMs)
      world.fail("waiting is not lateness", `${name} was missed though ${node.name} saw it in time`);
  }

  skipped(event: SchedulerEvents["schedule:skipped"]): void {
    const { slot, count } = event;
    if (slot !== undefined) this.#skips.add(`${nameOf(event)} ${slot.toISOString()}`);
    if (count !== undefined) this.#noteTold(event);
  }

  #noteTold(key: ScheduleKey): void {
    this.#owedMisses = this.#owedMisses.filter((owed) => !owed.slot.startsWith(`${nameOf(key)} `));
  }

  finished(node: SimulatedNode, { job }: SchedulerEvents["job:finished"]): void {
    const known = this.#options.jobs().find(job.id);
    const name = known?.name ?? "an unknown job";
    if (this.#finished.has(job.id)) this.#world.fail("one final status per job", `${name} finished twice`);
    this.#finished.add(job.id);
    this.#told.set(job.id, job.status);
    const isCutOff = job.status === "interrupted" && known?.info.signal.aborted === true;
    const mayBeCutOff = isCutOff && this.#lastTroubleMs(node) > this.#world.nowMs - 3 * this.#world.leaseMs;
    if (known?.end !== job.status && !mayBeCutOff && !this.#lostIds.has(job.id))
      this.#world.fail("one final status per job", `${name} ended ${known?.end}, told as ${job.status}`);
  }

  checkAll(): void {
    const world = this.#world;
    const { nodes, mirror } = this.#options;
    this.#checkPrompt();
    // Whoever looks first frees what the dead have left.
    mirror().checkLeases(Math.min(...nodes().map((node) => this.#steadyMs(node))));
    for (const key of mirror().keys()) {
      const lost = this.acknowledged.lost(nameOf(key), mirror().stateOf(key));
      if (lost !== undefined) world.fail("no acknowledged update is lost", `${nameOf(key)}: ${lost}`);
    }
    if (nodes().every(({ booted: { calls } }) => calls.callsUnderWay === 0)) this.#checkReplacedTold();
    const isTroubled = nodes().some((node) => this.#steadyMs(node) === Infinity);
    const [owed] = isTroubled ? [] : this.#owedMisses;
    if (owed !== undefined && nodes().every((node) => this.#steadyMs(node) < owed.atMs))
      world.fail("every skip is told", `no event for ${owed.slot}, which was counted`);
    this.#owedMisses = this.#owedMisses.filter(({ atMs }) => atMs === world.nowMs);
    for (const node of nodes()) {
      this.#checkNode(node);
      this.#checkTold(node);
    }
  }

  /** After the last stop of all nodes, when everything has ended. */
  async checkEnd(log: JobLog): Promise<void> {
    const world = this.#world;
    const { mirror, jobs, nodes } = this.#options;
    for (const key of mirror().keys())
      if (mirror().stateOf(key).claim != null || mirror().stateOf(key).status === "running")
        world.fail("counters return to zero", `${nameOf(key)} is claimed after the end`);
    for (const { name, clock, scheduler } of nodes()) {
      if (clock.isDead) continue;
      if (scheduler.getTotalRunningJobCount() > 0)
        world.fail("counters return to zero", `${name} counts jobs after the end`);
      if (clock.sleeping > 0) world.fail("timers are gone", `${name} has ${clock.sleeping} sleeps`);
    }
    // A database that stays away after a stop is given up, and that is told: as many may be missing.
    const givenUp = new Map<unknown, number>();
    for (const { clock, scheduler } of nodes()) givenUp.set(clock, scheduler.getState().unrecordedJobCount);
    const statuses = new Map<string, string>();
    for (const { id, status } of await log.list({ limit: Infinity })) statuses.set(id, status);
    for (const { name, info, end, process } of jobs().all) {
      const status = statuses.get(info.job.id);
      const isLost = this.#lostIds.has(info.job.id);
      const left = givenUp.get(process) ?? 0;
      const isGivenUp = status === undefined && left > 0;
      if (isGivenUp) givenUp.set(process, left - 1);
      if (status === "running" || (status === undefined && !process.isDead && !isGivenUp))
        world.fail("one final status per job", `${name} ended ${end}, and its record is ${status}`);
      else if (!isLost && !isGivenUp && end !== undefined && status !== (this.#told.get(info.job.id) ?? end))
        if (!process.isDead)
          world.fail("one final status per job", `${name} ended ${end}, recorded as ${status}`);
    }
  }

  /** Since when a node runs untroubled; `Infinity` while it does not. */
  #steadyMs({ phase, upSinceMs, clock, booted: { calls } }: SimulatedNode): number {
    if (phase !== "up" || clock.isSuspended || calls.callsUnderWay > 0) return Infinity;
    return Math.max(upSinceMs, calls.lastFaultMs, calls.lastSlowMs, this.#world.lastJumpMs);
  }

  /** Who starts a job has the claim: or has had it, and stood still or waited for longer than its lease. */
  #checkClaim({ info, key, name, process }: SimulatedJob, node: SimulatedNode): void {
    const world = this.#world;
    const { mirror } = this.#options;
    const [agent = "", schedule = ""] = key.split("/");
    const { claim } = mirror().stateOf({ agent, schedule });
    if (claim?.job_id === info.job.id && mirror().holderOf({ agent, schedule }) === process) return;
    if (!this.#lostIds.has(info.job.id))
      world.fail("a claim is durable before its job starts", `${name} of ${key} on ${node.name}`);
  }

  #checkEnd(name: string, before: KnownState, after: KnownState, isCounted: boolean): void {
    const { claim } = before;
    if (claim == null) return;
    const isAbandoned = (after.abandoned_count ?? 0) > (before.abandoned_count ?? 0);
    const isInterrupted = isAbandoned || (after.interrupted_count ?? 0) > (before.interrupted_count ?? 0);
    const isGivenBack = after.next_run_at === before.next_run_at;
    const job = this.#options.jobs().find(claim.job_id);
    const isOwn = job !== undefined && this.#options.mirror().hasEnded(claim.token, job.process);
    if (isGivenBack && !isInterrupted && job !== undefined && !isOwn)
      this.#world.fail("a job that died with its node counts as interrupted", `${job.name} of ${name}`);
    if (isInterrupted || isGivenBack) {
      this.#lostIds.add(claim.job_id);
      const attempt = claim.source === "retry" ? before.retry?.attempt : 1;
      this.#startedSlots.delete(`${this.#world.passing} ${name} ${claim.slot} ${claim.source} ${attempt}`);
      if (isGivenBack) this.#givenBack.add(`${name} ${claim.slot}`);
      return;
    }
    const isNoSlot = claim.source === "paused" || claim.source === "manual";
    // By the job of an earlier claim of this slot, which continued under this one.
    const isContinued = this.#options
      .jobs()
      .all.some(
        ({ key, info, process }) =>
          key === name &&
          info.job.slot === claim.slot &&
          this.#options.mirror().hasEnded(claim.token, process),
      );
    if (!isCounted && !isNoSlot && !isContinued && !this.#startedIds.has(claim.job_id))
      this.#world.fail("every slot is accounted for", `${name} lost its claimed slot ${claim.slot}`);
  }

  #checkReplaced(name: string, before: KnownState, after: KnownState): void {
    const world = this.#world;
    const dueMs = Date.parse(before.next_run_at ?? "");
    const slot = new Date(before.retry?.slot ?? before.next_run_at ?? "");
    const isSlot =
      dueMs <= world.clock.wallMs && before.next_run_source !== "paused" && before.status !== "disabled";
    if (!isSlot || after.next_run_at === before.next_run_at) return;
    const recently = world.nowMs - 5 * world.checkMs;
    const isTold = this.#skips.has(`${name} ${slot.toISOString()}`);
    const isAsked = this.acknowledged.isChanging(name);
    const troubledMs = Math.max(
      world.lastRosterMs,
      world.lastJumpMs,
      ...this.#options.nodes().map((node) => this.#lastTroubleMs(node)),
    );
    if (!isTold && !isAsked && troubledMs < recently) this.#replaced.add(`${name} ${slot.toISOString()}`);
  }

  /** When the way of a node to the store was last bad, or the node last stood still. */
  #lastTroubleMs({ stoodStillMs, booted: { calls } }: SimulatedNode): number {
    return Math.max(calls.lastFaultMs, calls.lastSlowMs, stoodStillMs, this.#world.lastJumpMs);
  }

  #checkReplacedTold(): void {
    for (const slot of this.#replaced)
      if (!this.#skips.has(slot)) this.#world.fail("every slot is accounted for", `due and gone: ${slot}`);
    this.#replaced.clear();
  }

  /** What could run, and that somebody runs by itself who is there and untroubled, waits for one check at most. */
  #checkPrompt(): void {
    const world = this.#world;
    const { mirror, nodes } = this.#options;
    for (const key of mirror().keys()) {
      const name = nameOf(key);
      const { claim, status, next_run_at: nextRun, paused_until: pause } = mirror().stateOf(key);
      const dueMs = Math.max(Date.parse(nextRun ?? ""), Date.parse(pause ?? new Date(0).toISOString()));
      const isClaimable =
        claim == null &&
        status !== "disabled" &&
        dueMs <= world.clock.wallMs &&
        mirror().roomOf(key.agent) > 0;
      if (!isClaimable) {
        this.#claimableMs.delete(name);
        continue;
      }
      const sinceMs = this.#claimableMs.get(name) ?? world.nowMs;
      this.#claimableMs.set(name, sinceMs);
      for (const node of nodes()) {
        const seenMs = Math.max(sinceMs, this.#steadyMs(node), world.lastRosterMs);
        if (scheduleIn(node.fleet, key) === undefined || world.nowMs - seenMs <= world.checkMs) continue;
        const definition = node.booted.view.definitions.find((known) => nameOf(known) === name);
        if (definition !== undefined && definition.isAutomatic !== false)
          world.fail("what may run runs within a check", `${name} is due since ${nextRun}, on ${node.name}`);
      }
    }
  }

  /** A job that could not be renewed knows it when a quarter of its lease is left, and so before another may begin. */
  #checkTold({ name, clock, stoodStillMs }: SimulatedNode): void {
    const world = this.#world;
    const { jobs, mirror } = this.#options;
    const isHere = !clock.isDead && !clock.isSuspended && stoodStillMs < world.nowMs;
    if (!isHere || world.lastJumpMs >= world.nowMs) return;
    for (const { key, info, name: job } of jobs().live(clock)) {
      const [agent = "", schedule = ""] = key.split("/");
      const heldMs = mirror().heldMs({ agent, schedule }, clock);
      if (heldMs > world.leaseMs * 0.75 && !info.signal.aborted)
        world.fail("a job ends before its claim is another's", `${job} of ${key} on ${name}: ${heldMs} ms`);
    }
  }

  #checkNode({ name, scheduler, clock, isStopped }: SimulatedNode): void {
    const live = this.#options.jobs().live(clock).length;
    if (clock.isDead || isStopped || !scheduler.isRunning()) return;
    // One whose end is being written is still counted.
    if (scheduler.getTotalRunningJobCount() < live)
      this.#world.fail("counters", `${name} counts ${scheduler.getTotalRunningJobCount()} jobs of ${live}`);
  }
}

export function scheduleIn(
  fleet: readonly SimulatedAgent[],
  { agent, schedule }: ScheduleKey,
): SimulatedSchedule | undefined {
  return fleet.find(({ name }) => name === agent)?.schedules[schedule];
}
