/**
 * What every store with one owner does: it decides by the claim queue, and hands each change to the subclass, which
 * keeps the states. Where they are kept, and what durable means there, is up to the subclass.
 */
import type { Duration } from "../../duration.js";
import type { Clock, StoreClock } from "../../clock.js";
import { quote } from "../../errors.js";
import { isoText } from "../../iso-time.js";
import type { Logger } from "../../logger.js";
import { systemRandom } from "../../random.js";
import { type AgentPause, checkPause, type PauseDecision, pauseEndMs } from "../agent-pause.js";
import { claimRefusal, seenState } from "../claim-rules.js";
import { invalidState, StateLockedError } from "../errors.js";
import { isJobId, JobIds } from "../job-log/job-id.js";
import type { JobLog, JobRecord } from "../job-log/job-log.js";
import { logInterrupted } from "../interrupted-jobs.js";
import { leaseLength } from "../lease-length.js";
import {
  ChangeOperation,
  checkedChange,
  decisionBy,
  type StateDraft,
  type StateOperation,
} from "../operations.js";
import { OutsideListeners } from "../outside-listeners.js";
import type { Mailbox, ScheduleRequest } from "../mailbox.js";
import type { ScheduleState } from "../schedule-state.js";
import type {
  Claim,
  ClaimRefusal,
  ClaimToken,
  DefinedSchedule,
  Definitions,
  DueSlots,
  FinishResult,
  JobFinish,
  OutsideChange,
  ScheduleChange,
  ScheduleDecision,
  ScheduleKey,
  StateStore,
} from "../store.js";
import { checkDefinitions, checkKey, checkName, wholeState } from "../validate-state.js";
import { ClaimQueue, type TakenClaim } from "./claim-queue.js";
import { JobFinishes } from "./job-finishes.js";
import { FreeOperation, RecoverOperation, SeenDraft, UnplanOperation } from "./operations.js";
import { recordInterrupted, recordLastJobs } from "./missing-records.js";
import type { OwnedJobLog } from "./owned-job-log.js";

export interface SingleOwnerStoreOptions {
  readonly clock: StoreClock;
  readonly logger: Logger;
  readonly leaseMs?: Duration | undefined;
}

export abstract class SingleOwnerStore implements StateStore {
  abstract readonly jobs: JobLog;
  abstract readonly mailbox: Mailbox;
  readonly leaseMs: number;
  readonly #clock: StoreClock;
  readonly #logger: Logger;
  readonly #queue: ClaimQueue;
  readonly #finishes: JobFinishes;
  readonly #listeners: OutsideListeners;
  /** Schedules that are defined no longer, whose plan is still to be removed. */
  #gone: readonly ScheduleKey[] = [];

  constructor({ clock, logger, leaseMs }: SingleOwnerStoreOptions) {
    this.leaseMs = leaseLength(leaseMs);
    this.#clock = clock;
    this.#logger = logger;
    this.#listeners = new OutsideListeners(logger);
    const ids = new JobIds(systemRandom);
    this.#queue = new ClaimQueue(clock, this.leaseMs, (at) => ids.next(at));
    this.#finishes = new JobFinishes({
      queue: this.#queue,
      log: () => this.log,
      known: this.known.bind(this),
      commit: this.commit.bind(this),
    });
  }

  abstract open(clock?: Clock): Promise<void>;
  abstract close(): Promise<void>;

  /** The log that `jobs` is the public side of. */
  protected abstract get log(): OwnedJobLog;
  /** Brings what is known up to date, where a second process may have changed it. */
  protected abstract refresh(): Promise<void>;
  /** What is known of a schedule, without waiting. */
  protected abstract known(key: ScheduleKey): Partial<ScheduleState>;
  protected abstract knownSchedules(agent: string): Iterable<readonly [string, Partial<ScheduleState>]>;
  /** All schedules with a known state. */
  protected abstract knownKeys(): Iterable<ScheduleKey>;
  /** The agents with a pause in the state, also one that has ended by itself. */
  protected abstract knownPauses(): Iterable<readonly [agent: string, pause: AgentPause]>;
  /** Writes what `decide` says; then calls `notePause`. May ask again, when the state was changed before the write. */
  protected abstract writePause(agent: string, decide: PauseDecision): Promise<void>;
  /** Resolves when the operation's changes are durable; then calls `noteChanges`. May apply the operation again. */
  protected abstract commit(operation: StateOperation): Promise<void>;
  /** Whether this store owns its states, so that it knows of every claim that is held. */
  protected abstract get isOwner(): boolean;
  /** Throws unless this store owns its states. */
  protected abstract requireOwner(): void;

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async define(definitions: Definitions): Promise<readonly DefinedSchedule[]> {
    checkDefinitions(definitions);
    await this.refresh();
    const pauses = new Map(this.knownPauses());
    const gone = this.#queue.define(
      definitions,
      (key) => this.known(key),
      (agent) => pauseEndMs(pauses.get(agent)),
    );
    await this.#unplan(gone);
    return definitions.schedules.map((key) => ({
      state: wholeState(this.seen(this.known(key))),
      isPlannedHere: true,
    }));
  }

  async read(key: ScheduleKey): Promise<ScheduleState> {
    checkKey(key);
    await this.refresh();
    return wholeState(this.seen(this.known(key)));
  }

  async list(agent: string): Promise<ReadonlyMap<string, ScheduleState>> {
    checkName("agent", agent);
    await this.refresh();
    const states = new Map<string, ScheduleState>();
    for (const [name, state] of this.knownSchedules(agent)) states.set(name, wholeState(this.seen(state)));
    return states;
  }

  async update(key: ScheduleKey, change: ScheduleChange): Promise<ScheduleState> {
    checkKey(key);
    const { agent, schedule } = key;
    const operation = new ChangeOperation([{ agent, schedule }], decisionBy([checkedChange(change)]));
    await this.commit(this.#asSeen(operation));
    const [state = {}] = operation.requireDone();
    return wholeState(state);
  }

  async updateAll(keys: readonly ScheduleKey[], decide: ScheduleDecision): Promise<void> {
    const checked = keys.map(({ agent, schedule }) => {
      const key = { agent, schedule };
      checkKey(key);
      return key;
    });
    const operation = new ChangeOperation(checked, decide);
    await this.commit(this.#asSeen(operation));
    operation.requireDone();
  }

  async pauses(): Promise<ReadonlyMap<string, AgentPause>> {
    await this.refresh();
    const nowMs = this.#clock.now().getTime();
    return new Map(Array.from(this.knownPauses()).filter(([, pause]) => pauseEndMs(pause) > nowMs));
  }

  async changePause(agent: string, decide: PauseDecision): Promise<AgentPause | undefined> {
    checkName("agent", agent);
    let pause: AgentPause | undefined;
    await this.writePause(agent, (before) => {
      const decided = decide(before);
      pause = decided === undefined ? before : (decided ?? undefined);
      return decided == null ? decided : checkPause(decided);
    });
    return pause;
  }

  async claimDue(limit: number): Promise<DueSlots> {
    if (!(limit >= 0)) throw invalidState(`Invalid limit ${quote(limit)}: expected a number from 0.`);
    this.requireOwner();
    // The caller cannot renew a lease that ends while this call is under way.
    const askedMs = this.#clock.monotonic();
    await this.refresh();
    const { claims, skipped, expired, nextDueAt } = this.#queue.take(limit, askedMs);
    if (expired.length > 0) await this.#endExpired(expired);
    return { claims: await this.#record(claims), skipped, nextDueAt };
  }

  claim({ agent, schedule }: ScheduleKey): Promise<Claim | ClaimRefusal> {
    return this.#claimOne({ agent, schedule });
  }

  /** The id of a request is that of its job: the caller looks whether there is such a job. */
  claimFor({ agent, schedule, id }: ScheduleRequest): Promise<Claim | ClaimRefusal> {
    return this.#claimOne({ agent, schedule }, id);
  }

  async #claimOne(key: ScheduleKey, jobId?: string): Promise<Claim | ClaimRefusal> {
    checkKey(key);
    this.requireOwner();
    await this.refresh();
    const taken = this.#queue.takeOne(key, jobId);
    if (taken === undefined)
      throw invalidState(
        `${quote(key.agent)}/${quote(key.schedule)} is not defined, so it cannot be claimed.`,
      );
    if (typeof taken === "string") return taken;
    const [claim] = await this.#record([taken]);
    return claim ?? "disabled";
  }

  async renew(claim: ClaimToken): Promise<boolean> {
    this.requireOwner();
    return this.#queue.renew(claim);
  }

  async startJobs(jobs: readonly JobRecord[]): Promise<void> {
    if (jobs.length === 0) return;
    const failures = await this.log.openRecords(jobs);
    const failure = failures.find((one) => one !== undefined);
    if (failure !== undefined) throw failure.error;
  }

  async finishJobs(ends: readonly JobFinish[]): Promise<readonly FinishResult[]> {
    this.requireOwner();
    return this.#finishes.finish(ends);
  }

  onChange(listener: (changes: readonly OutsideChange[]) => void): () => void {
    return this.#listeners.add(listener);
  }

  /** Frees what an owner that died left running, and makes the records that it could not write. */
  protected async recover(): Promise<void> {
    this.#queue.endAll();
    await this.refresh();
    const states = Array.from(this.knownKeys(), (key) => ({ key, state: this.known(key) }));
    const claimed = states.flatMap(({ state }) => state.claim?.job_id ?? []).filter(isJobId);
    const records = claimed.length === 0 ? new Map() : await this.log.closedRecords(claimed);
    const missing = { log: this.log, now: this.#clock.now(), logger: this.#logger };
    await recordLastJobs(states, missing);
    // Before the claims are freed: a second crash then finds the records, and never a job without one.
    await recordInterrupted(states, records, missing);
    await this.commit(new RecoverOperation(() => this.#clock.now(), records));
    const unfinished = states.flatMap(({ key, state: { claim } }) =>
      claim == null || records.has(claim.job_id) ? [] : [{ ...key, jobId: claim.job_id }],
    );
    logInterrupted(this.#logger, unfinished, "the process of its scheduler ended");
  }

  /** The jobs whose claims are held, or whose records are still to be written. */
  protected claimedJobs(): ReadonlySet<string> {
    return new Set([...this.#queue.jobIds(), ...this.#finishes.unrecorded]);
  }

  /** To be called with every schedule whose state has changed. */
  protected noteChanges(keys: Iterable<ScheduleKey>): void {
    for (const key of keys) this.#queue.note(key, this.known(key));
  }

  /** As `noteChanges`, for changes that came from outside. */
  protected noteOutsideChanges(changes: readonly OutsideChange[]): void {
    if (changes.length === 0) return;
    this.noteChanges(changes);
    this.#listeners.tell(changes);
  }

  /** To be called with every agent whose pause has changed. */
  protected notePause(agent: string, pause: AgentPause | undefined): void {
    this.#queue.hold(agent, pauseEndMs(pause));
  }

  /** As `notePause`, for changes that came from outside: there may be more to claim now. */
  protected noteOutsidePauses(changes: readonly (readonly [string, AgentPause | undefined])[]): void {
    for (const [agent, pause] of changes) this.notePause(agent, pause);
    if (changes.length > 0) this.#listeners.tell([]);
  }

  /**
   * Gives back claims that are not held, of `keys` or of all schedules. Before ownership is given up that is needed,
   * or the next owner would count them as interrupted. Does not reject: a claim that is not held is ignored, and the
   * next owner frees it.
   */
  protected async free(
    commit: (operation: StateOperation) => Promise<void>,
    keys?: readonly ScheduleKey[],
  ): Promise<void> {
    try {
      await commit(new FreeOperation(this.#isHeld, keys));
    } catch (cause) {
      if (cause instanceof StateLockedError) return;
      this.#logger.error(`Could not free claims that are not held: ${String(cause)}`);
    }
  }

  /** The state without a claim that is not held. Only an owner knows which claims are held. */
  protected seen(state: Partial<ScheduleState>): Partial<ScheduleState> {
    return seenState(state, this.#isHeld);
  }

  readonly #isHeld = (token: string): boolean => !this.isOwner || this.#queue.isHeld(token);

  #asSeen(operation: StateOperation): StateOperation {
    return { apply: (draft) => operation.apply(new SeenDraft(draft, this.#isHeld)) };
  }

  /** Makes claims durable, and returns the claims that the state still allows. */
  async #record(taken: readonly TakenClaim[]): Promise<readonly Claim[]> {
    if (taken.length === 0) return [];
    let recorded: readonly Claim[] = [];
    try {
      await this.commit({
        apply: (draft) => {
          recorded = recordClaims(draft, taken, this.#clock.now());
        },
      });
    } catch (error) {
      for (const claim of taken) this.#queue.end(claim);
      throw error;
    }
    if (recorded.length < taken.length) {
      const kept = new Set<ClaimToken>(recorded);
      for (const claim of taken) if (!kept.has(claim)) this.#queue.end(claim);
    }
    return recorded;
  }

  /** A schedule that is defined no longer is not due, and must not be when it is defined again. */
  async #unplan(gone: readonly ScheduleKey[]): Promise<void> {
    const isDefined = (key: ScheduleKey): boolean => this.#queue.isDefined(key);
    this.#gone = [...this.#gone, ...gone].filter((key) => !isDefined(key));
    if (this.#gone.length === 0 || !this.isOwner) return;
    const unplanned = this.#gone;
    await this.commit(new UnplanOperation(unplanned, isDefined, this.#isHeld));
    if (this.#gone === unplanned) this.#gone = [];
  }

  /** An expired claim leaves a state that says running, and a job whose end is not reported. */
  async #endExpired(expired: readonly TakenClaim[]): Promise<void> {
    await this.free((operation) => this.commit(operation), expired);
    logInterrupted(this.#logger, expired, "its claim was not renewed in time");
    for (const { agent, schedule, jobId } of expired) {
      const error = "its claim was not renewed in time";
      try {
        await this.jobs.finish(jobId, { status: "interrupted", error, duration_ms: null });
      } catch (cause) {
        this.#logger.error(`Could not close ${jobId} of ${agent}/${schedule}, ${error}: ${String(cause)}`);
      }
    }
  }
}

/** The claims that the state still allows, recorded in the draft. */
function recordClaims(draft: StateDraft, taken: readonly TakenClaim[], now: Date): readonly Claim[] {
  const recorded: Claim[] = [];
  for (const claim of taken) {
    const { token, jobId, slot, source, claimedAt } = claim;
    const state = draft.read(claim);
    // Only a state that has changed since can speak against the claim.
    const isSame = state === claim.state;
    if (!isSame && !isClaimable(state, source === "manual" ? undefined : now.getTime())) continue;
    const stored = {
      token,
      job_id: jobId,
      slot: isoText(slot),
      source: source ?? null,
      claimed_at: isoText(claimedAt),
    };
    const after = wholeState(draft.patch(claim, { status: "running", claim: stored }));
    recorded.push(Object.assign(claim, { state: after }));
  }
  return recorded;
}

function isClaimable(state: Partial<ScheduleState>, nowMs: number | undefined): boolean {
  return claimRefusal({ state, isRunning: false, isAtCapacity: false, nowMs }) === undefined;
}
