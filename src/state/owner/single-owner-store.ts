/**
 * What every store with one owner does alike: it decides by the claim book, and hands each change to whatever keeps
 * the states. Where they are kept, and what durable means there, is up to the store.
 */
import type { Clock } from "../../clock.js";
import { quote } from "../../errors.js";
import type { Logger } from "../../logger.js";
import { systemRandom } from "../../random.js";
import { checkDefinition, checkKey, checkName } from "../validate-state.js";
import { ClaimBook } from "./claim-queue.js";
import type { TakenClaim } from "./leases.js";
import { completion, givenBack, seenState } from "../claim-rules.js";
import { invalidState, StateLockedError } from "../errors.js";
import { JobIds } from "../job-log/job-id.js";
import type { JobLog } from "../job-log/job-log.js";
import { leaseLength } from "../lease-length.js";
import type { ScheduleState } from "../schedule-state.js";
import {
  ChangeOperation,
  checkedChange,
  ClaimOperation,
  decisionBy,
  FreeOperation,
  type PatchRule,
  RecoverOperation,
  ReserveOperation,
  SeenDraft,
  type StateOperation,
} from "./operations.js";
import { OutsideListeners } from "../outside-listeners.js";
import { wholeState } from "../whole-state.js";
import type {
  Claim,
  ClaimEnd,
  ClaimRefusal,
  ClaimToken,
  DueSlots,
  OutsideChange,
  ScheduleChange,
  ScheduleDecision,
  ScheduleDefinition,
  ScheduleKey,
  StateStore,
} from "../store.js";
import type { StoreClock } from "../store-clock.js";

export interface StoreBaseOptions {
  readonly clock: StoreClock;
  readonly logger: Logger;
  readonly leaseMs?: number | undefined;
}

export abstract class StoreBase implements StateStore {
  abstract readonly jobs: JobLog;
  readonly leaseMs: number;
  readonly #clock: StoreClock;
  readonly #logger: Logger;
  readonly #book: ClaimBook;
  readonly #listeners: OutsideListeners;

  constructor({ clock, logger, leaseMs }: StoreBaseOptions) {
    this.leaseMs = leaseLength(leaseMs);
    this.#clock = clock;
    this.#logger = logger;
    this.#listeners = new OutsideListeners(logger);
    const ids = new JobIds(systemRandom);
    this.#book = new ClaimBook(clock, this.leaseMs, (at) => ids.next(at));
  }

  abstract open(clock?: Clock): Promise<void>;
  abstract close(): Promise<void>;

  /** Brings what is known up to date, where others may have changed it. */
  protected abstract refresh(): Promise<void>;
  /** Looks without waiting: whether this store owns its states and what is known is up to date, as far as can be told so. */
  protected abstract glance(): boolean;
  /** What is known of a schedule, without waiting. */
  protected abstract known(key: ScheduleKey): Partial<ScheduleState>;
  protected abstract knownSchedules(agent: string): Iterable<readonly [string, Partial<ScheduleState>]>;
  /** Resolves when the operation's changes are durable; then calls `noteChanges`. May ask the operation again. */
  protected abstract commit(operation: StateOperation): Promise<void>;
  /** Whether this store owns its states, so that it knows of every claim that is held. */
  protected abstract get isOwner(): boolean;
  /** Throws unless this store owns its states. */
  protected abstract requireOwner(): void;

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async define(definitions: readonly ScheduleDefinition[]): Promise<readonly ScheduleState[]> {
    for (const definition of definitions) checkDefinition(definition);
    await this.refresh();
    this.#book.define(definitions, (key) => this.known(key));
    return definitions.map((key) => wholeState(this.seen(this.known(key))));
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

  async claimDue(limit: number): Promise<DueSlots> {
    if (!(limit >= 0)) throw invalidState(`Invalid limit ${quote(limit)}: expected a number from 0.`);
    this.requireOwner();
    // A lease that ends while this call is under way could not be renewed by who made it.
    const askedMs = this.#clock.monotonic();
    await this.refresh();
    const { ready, claims, skipped, expired, withdrawn } = this.#book.take(limit, askedMs);
    if (expired.length > 0) await this.#endExpired(expired);
    if (withdrawn.length > 0) void this.free((operation) => this.commit(operation), withdrawn);
    return { claims: ready.length > 0 ? ready : await this.#record(claims), skipped };
  }

  async reserve(limit: number, aheadMs: number): Promise<void> {
    this.requireOwner();
    const reserved = this.#book.reserve(limit, aheadMs);
    if (reserved.length === 0) return;
    try {
      await this.commit(new ReserveOperation(reserved, (claim) => this.#book.isReserved(claim)));
    } catch (error) {
      for (const claim of reserved) if (this.#book.isReserved(claim)) this.#book.withdraw(claim);
      throw error;
    }
  }

  async claim(key: ScheduleKey): Promise<Claim | ClaimRefusal> {
    checkKey(key);
    this.requireOwner();
    await this.refresh();
    const taken = this.#book.takeOne(key);
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
    return this.#book.renew(claim);
  }

  async complete(claim: ClaimToken, change: ScheduleChange): Promise<boolean> {
    const [isHeld] = await this.#endAll([{ claim, change }], completion);
    return isHeld === true;
  }

  completeAll(ends: readonly ClaimEnd[]): Promise<readonly boolean[]> {
    return this.#endAll(ends, completion);
  }

  async release(claim: ClaimToken): Promise<boolean> {
    const [isHeld] = await this.#endAll([{ claim, change: givenBack }]);
    return isHeld === true;
  }

  idleMs(): number {
    if (!this.glance() || this.#book.hasClaims) return 0;
    const dueMs = this.#book.nextDueMs();
    return dueMs === undefined ? Infinity : Math.max(0, dueMs - this.#clock.now().getTime());
  }

  async nextDueAt(lookedAt?: Date): Promise<Date | undefined> {
    const dueMs = this.#book.nextDueMs(lookedAt?.getTime());
    return dueMs === undefined ? undefined : new Date(dueMs);
  }

  onChange(listener: (changes: readonly OutsideChange[]) => void): () => void {
    return this.#listeners.add(listener);
  }

  /** Frees what an owner that died left running. */
  protected recover(): Promise<void> {
    this.#book.endAll();
    return this.commit(new RecoverOperation(() => this.#clock.now()));
  }

  /** What is true of a stored state, as far as can be known: only an owner knows which claims are held. */
  protected seen(state: Partial<ScheduleState>): Partial<ScheduleState> {
    return seenState(state, this.#isHeld);
  }

  /** To be called with every schedule whose state has become another. */
  protected noteChanges(keys: Iterable<ScheduleKey>): void {
    for (const key of keys) this.#book.note(key, this.known(key));
  }

  /** As `noteChanges`, for changes that came from outside. */
  protected noteOutsideChanges(changes: readonly OutsideChange[]): void {
    if (changes.length === 0) return;
    this.noteChanges(changes);
    this.#listeners.tell(changes);
  }

  /** Makes claims durable, and answers those that nothing speaks against by now. */
  async #record(taken: readonly TakenClaim[]): Promise<readonly Claim[]> {
    if (taken.length === 0) return [];
    const operation = new ClaimOperation(taken, () => this.#clock.now());
    let dropped = taken;
    try {
      await this.commit(operation);
      dropped = operation.dropped;
    } finally {
      for (const claim of dropped) this.#book.end(claim, this.known(claim));
    }
    return operation.claims;
  }

  /** Ends those of the claims that are held, and keeps them all when that cannot be written. */
  async #endAll(ends: readonly ClaimEnd[], toWrite?: PatchRule): Promise<readonly boolean[]> {
    const changes = ends.map(({ change }) => checkedChange(change));
    this.requireOwner();
    const areHeld = ends.map(({ claim }) => this.#book.beginEnd(claim));
    const held = ends.filter((_, index) => areHeld[index]);
    if (held.length === 0) return areHeld;
    const operation = new ChangeOperation(
      held.map(({ claim }) => claim),
      decisionBy(changes.filter((_, index) => areHeld[index])),
      toWrite,
    );
    try {
      await this.commit(operation);
      operation.requireDone();
    } catch (error) {
      for (const { claim } of held) this.#book.keep(claim);
      throw error;
    }
    for (const { claim } of held) this.#book.end(claim, this.known(claim));
    return areHeld;
  }

  /** Claims that nobody renewed leave a state that says running, and a job whose end nobody will report. */
  async #endExpired(expired: readonly TakenClaim[]): Promise<void> {
    await this.free((operation) => this.commit(operation), expired);
    for (const { agent, schedule, jobId } of expired) {
      const error = "its claim was not renewed in time";
      try {
        await this.jobs.finish(jobId, { status: "interrupted", error, duration_ms: null });
      } catch (cause) {
        this.#logger.error(`Could not close ${jobId} of ${agent}/${schedule}, ${error}: ${String(cause)}`);
      }
    }
  }

  readonly #isHeld = (token: string): boolean => !this.isOwner || this.#book.isHeld(token);

  #asSeen(operation: StateOperation): StateOperation {
    return { apply: (draft) => operation.apply(new SeenDraft(draft, this.#isHeld)) };
  }

  /**
   * Frees what nobody runs: those of `keys`, or all, before ownership is given up, as what was reserved was not interrupted.
   * Does not reject: a claim that nobody holds is not taken for one, whatever the states say. Another owner frees it too.
   */
  protected async free(
    commit: (operation: StateOperation) => Promise<void>,
    keys?: readonly ScheduleKey[],
  ): Promise<void> {
    try {
      await commit(new FreeOperation(this.#isHeld, keys));
    } catch (cause) {
      if (cause instanceof StateLockedError) return;
      this.#logger.error(`Could not free what nobody runs: ${String(cause)}`);
    }
  }
}
