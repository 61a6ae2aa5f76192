/**
 * What every store with one owner does alike: it decides by the claim book, and hands each change to whatever keeps
 * the states. Where they are kept, and what durable means there, is up to the store.
 */
import type { Clock } from "../clock.js";
import { quote } from "../errors.js";
import type { Logger } from "../logger.js";
import { systemRandom } from "../random.js";
import { checkDefinition, checkKey, checkName } from "./check-schedule.js";
import { ClaimBook } from "./claim-book.js";
import type { TakenClaim } from "./leases.js";
import { completion, givenBack, interruption } from "./claim-rules.js";
import { invalidState } from "./errors.js";
import { JobIds } from "./jobs/job-id.js";
import type { JobLog } from "./jobs/job-log.js";
import type { ScheduleState } from "./schedule-state.js";
import {
  ChangeOperation,
  ChangesOperation,
  ClaimOperation,
  type PatchRule,
  type StateOperation,
  wholeState,
} from "./state-operation.js";
import type {
  Claim,
  ClaimRefusal,
  ClaimToken,
  DueSlots,
  OutsideChange,
  ScheduleChange,
  ScheduleDecision,
  ScheduleDefinition,
  ScheduleKey,
  StateStore,
} from "./state-store.js";
import type { StoreClock } from "./store-clock.js";

export interface StoreBaseOptions {
  readonly clock: StoreClock;
  readonly logger: Logger;
  readonly leaseMs: number;
}

/** How long a claim lasts that is not renewed. */
export const DEFAULT_LEASE_MS = 30_000;

export abstract class StoreBase implements StateStore {
  abstract readonly jobs: JobLog;
  readonly leaseMs: number;
  readonly #clock: StoreClock;
  readonly #logger: Logger;
  readonly #book: ClaimBook;
  readonly #listeners = new Set<(changes: readonly OutsideChange[]) => void>();

  constructor({ clock, logger, leaseMs }: StoreBaseOptions) {
    this.leaseMs = leaseMs;
    this.#clock = clock;
    this.#logger = logger;
    const ids = new JobIds(systemRandom);
    this.#book = new ClaimBook(clock, leaseMs, (at) => ids.next(at));
  }

  abstract open(clock?: Clock): Promise<void>;
  abstract close(): Promise<void>;

  /** Brings what is known up to date, where others may have changed it. */
  protected abstract refresh(): Promise<void>;
  /** What is known of a schedule, without waiting. */
  protected abstract known(key: ScheduleKey): Partial<ScheduleState>;
  protected abstract knownSchedules(agent: string): Iterable<readonly [string, Partial<ScheduleState>]>;
  /** Resolves when the operation's changes are durable; then calls `noteChanges`. May ask the operation again. */
  protected abstract commit(operation: StateOperation): Promise<void>;
  /** Throws unless this store owns its states. */
  protected abstract requireOwner(): void;

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async define(definitions: readonly ScheduleDefinition[]): Promise<readonly ScheduleState[]> {
    for (const definition of definitions) checkDefinition(definition);
    await this.refresh();
    this.#book.define(definitions, (key) => this.known(key));
    return definitions.map((key) => wholeState(this.known(key)));
  }

  async read(key: ScheduleKey): Promise<ScheduleState> {
    checkKey(key);
    await this.refresh();
    return wholeState(this.known(key));
  }

  async list(agent: string): Promise<ReadonlyMap<string, ScheduleState>> {
    checkName("agent", agent);
    await this.refresh();
    const states = new Map<string, ScheduleState>();
    for (const [name, state] of this.knownSchedules(agent)) states.set(name, wholeState(state));
    return states;
  }

  async update(key: ScheduleKey, change: ScheduleChange): Promise<ScheduleState> {
    checkKey(key);
    const { agent, schedule } = key;
    const operation = new ChangeOperation({ agent, schedule }, change);
    await this.commit(operation);
    return wholeState(operation.requireDone());
  }

  async updateAll(keys: readonly ScheduleKey[], decide: ScheduleDecision): Promise<void> {
    const checked = keys.map(({ agent, schedule }) => {
      const key = { agent, schedule };
      checkKey(key);
      return key;
    });
    const operation = new ChangesOperation(checked, decide);
    await this.commit(operation);
    operation.requireDone();
  }

  async claimDue(limit: number): Promise<DueSlots> {
    if (!(limit >= 0)) throw invalidState(`Invalid limit ${quote(limit)}: expected a number from 0.`);
    this.requireOwner();
    // A lease that ends while this call is under way could not be renewed by who made it.
    const askedMs = this.#clock.monotonic();
    await this.refresh();
    const { claims, skipped, expired } = this.#book.take(limit, askedMs);
    if (expired.length > 0) await this.#endExpired(expired);
    return { claims: claims.length === 0 ? [] : await this.#record(claims), skipped };
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

  complete(claim: ClaimToken, change: ScheduleChange): Promise<boolean> {
    return this.#end(claim, change, completion);
  }

  release(claim: ClaimToken): Promise<boolean> {
    return this.#end(claim, givenBack);
  }

  async nextDueAt(lookedAt?: Date): Promise<Date | undefined> {
    const dueMs = this.#book.nextDueMs(lookedAt?.getTime());
    return dueMs === undefined ? undefined : new Date(dueMs);
  }

  onChange(listener: (changes: readonly OutsideChange[]) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Frees what an owner that died left running. */
  protected recover(): Promise<void> {
    this.#book.endAll();
    return this.commit({
      apply: (draft) => {
        for (const key of draft.keys()) {
          const state = draft.read(key);
          if (state.status === "running" || state.claim != null)
            draft.patch(key, interruption(state, this.#clock.now()));
        }
      },
    });
  }

  /** To be called with every schedule whose state has become another. */
  protected noteChanges(keys: Iterable<ScheduleKey>): void {
    for (const key of keys) this.#book.note(key, this.known(key));
  }

  /** As `noteChanges`, for changes that came from outside. */
  protected noteOutsideChanges(changes: readonly OutsideChange[]): void {
    if (changes.length === 0) return;
    this.noteChanges(changes);
    for (const listener of this.#listeners) {
      try {
        listener(changes);
      } catch (error) {
        this.#logger.error(`A listener to outside changes threw: ${String(error)}`);
      }
    }
  }

  /** Makes claims durable, and answers those that nothing speaks against by now. */
  async #record(taken: readonly TakenClaim[]): Promise<readonly Claim[]> {
    const operation = new ClaimOperation(taken, () => this.#clock.now());
    let dropped = taken;
    try {
      await this.commit(operation);
      const kept = new Set(operation.claims.map(({ token }) => token));
      dropped = taken.filter(({ token }) => !kept.has(token));
    } finally {
      for (const claim of dropped) this.#book.end(claim, this.known(claim));
    }
    return operation.claims;
  }

  /** Ends a claim that is held, and keeps it when that cannot be written. */
  async #end(claim: ClaimToken, change: ScheduleChange, toWrite?: PatchRule): Promise<boolean> {
    const operation = new ChangeOperation(claim, change, toWrite);
    this.requireOwner();
    if (!this.#book.beginEnd(claim)) return false;
    try {
      await this.commit(operation);
      operation.requireDone();
    } catch (error) {
      this.#book.keep(claim);
      throw error;
    }
    this.#book.end(claim, this.known(claim));
    return true;
  }

  /** Claims that nobody renewed leave a state that says running, and a job whose end nobody will report. */
  async #endExpired(expired: readonly TakenClaim[]): Promise<void> {
    try {
      await this.commit({
        apply: (draft) => {
          for (const key of expired) {
            const state = draft.read(key);
            if (state.claim?.token === key.token) draft.patch(key, givenBack(state));
          }
        },
      });
    } catch (cause) {
      this.#logger.error(`Could not free what was not renewed in time: ${String(cause)}`);
    }
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
