/**
 * What every store with one owner does alike: it decides by the claim book, and hands each change to whatever keeps
 * the states. Where they are kept, and what durable means there, is up to the store.
 */
import type { Clock } from "../clock.js";
import { quote } from "../errors.js";
import type { Logger } from "../logger.js";
import { systemRandom } from "../random.js";
import { checkDefinition, checkKey, checkedPatch, checkName } from "./check-schedule.js";
import { ClaimBook } from "./claim-book.js";
import { claimRefusal, completion, interruption } from "./claim-rules.js";
import { invalidState } from "./errors.js";
import { drawJobId } from "./jobs/job-id.js";
import type { JobLog } from "./jobs/job-log.js";
import { type ScheduleState, type ScheduleStatePatch, UNKNOWN_SCHEDULE } from "./schedule-state.js";
import type { Claim, DueSlots, ScheduleDefinition, ScheduleKey, StateStore } from "./state-store.js";

/** Changes on the way: patches are seen by later reads, and nothing is kept before all of them are. */
export interface StateDraft {
  read(key: ScheduleKey): Partial<ScheduleState>;
  patch(key: ScheduleKey, patch: ScheduleStatePatch): Partial<ScheduleState>;
  /** All schedules with a state. */
  keys(): Iterable<ScheduleKey>;
}

export type StateOperation = (draft: StateDraft) => void;

export interface StoreBaseOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly leaseMs: number;
}

/** How long a claim lasts that is not renewed. */
export const DEFAULT_LEASE_MS = 30_000;

export abstract class StoreBase implements StateStore {
  abstract readonly jobs: JobLog;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #book: ClaimBook;
  readonly #listeners = new Set<(changed: readonly ScheduleKey[]) => void>();

  constructor({ clock, logger, leaseMs }: StoreBaseOptions) {
    this.#clock = clock;
    this.#logger = logger;
    this.#book = new ClaimBook(clock, leaseMs, (at) => drawJobId(at, systemRandom));
  }

  abstract open(): Promise<void>;
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

  async define(definitions: readonly ScheduleDefinition[]): Promise<void> {
    for (const definition of definitions) checkDefinition(definition);
    await this.refresh();
    this.#book.define(definitions, (key) => this.known(key));
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

  async update(key: ScheduleKey, patch: ScheduleStatePatch): Promise<ScheduleState> {
    checkKey(key);
    const { agent, schedule } = key;
    const changes = checkedPatch(patch);
    let state: Partial<ScheduleState> = {};
    await this.commit((draft) => {
      state = draft.patch({ agent, schedule }, changes);
    });
    return wholeState(state);
  }

  async claimDue(limit: number): Promise<DueSlots> {
    if (!(limit >= 0)) throw invalidState(`Invalid limit ${quote(limit)}: expected a number from 0.`);
    this.requireOwner();
    await this.refresh();
    const { claims, skipped, expired } = this.#book.take(limit);
    await this.#closeJobs(expired);
    if (claims.length === 0) return { claims, skipped };
    let refused: readonly Claim[] = claims;
    try {
      await this.commit((draft) => {
        refused = claims.filter((claim) => !recordClaim(draft, claim, this.#clock.now()));
      });
    } catch (error) {
      refused = claims;
      throw error;
    } finally {
      for (const claim of refused) this.#book.end(claim, this.known(claim));
    }
    return { claims: claims.filter((claim) => !refused.includes(claim)), skipped };
  }

  async renew(claim: Claim): Promise<boolean> {
    this.requireOwner();
    return this.#book.renew(claim);
  }

  async complete(claim: Claim, patch: ScheduleStatePatch): Promise<boolean> {
    const changes = checkedPatch(patch);
    this.requireOwner();
    if (!this.#book.beginEnd(claim)) return false;
    try {
      await this.commit((draft) => {
        draft.patch(claim, completion(draft.read(claim), changes));
      });
    } catch (error) {
      this.#book.keep(claim);
      throw error;
    }
    this.#book.end(claim, this.known(claim));
    return true;
  }

  async nextDueAt(): Promise<Date | undefined> {
    const dueMs = this.#book.nextDueMs();
    return dueMs === undefined ? undefined : new Date(dueMs);
  }

  onChange(listener: (changed: readonly ScheduleKey[]) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Frees what an owner that died left running. */
  protected recover(): Promise<void> {
    return this.commit((draft) => {
      for (const key of draft.keys()) {
        const state = draft.read(key);
        if (state.status === "running") draft.patch(key, interruption(state, this.#clock.now()));
      }
    });
  }

  /** To be called with every schedule whose state has become another. */
  protected noteChanges(keys: Iterable<ScheduleKey>): void {
    for (const key of keys) this.#book.note(key, this.known(key));
  }

  /** As `noteChanges`, for changes that came from outside. */
  protected noteOutsideChanges(keys: readonly ScheduleKey[]): void {
    if (keys.length === 0) return;
    this.noteChanges(keys);
    for (const listener of this.#listeners) {
      try {
        listener(keys);
      } catch (error) {
        this.#logger.error(`A listener to outside changes threw: ${String(error)}`);
      }
    }
  }

  /** Claims that nobody renewed leave a job behind whose end nobody will report. */
  async #closeJobs(expired: readonly Claim[]): Promise<void> {
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

/** Whether nothing speaks against a claim by now, in which case it is recorded. */
function recordClaim(draft: StateDraft, claim: Claim, now: Date): boolean {
  const state = draft.read(claim);
  const question = { state, isRunning: false, isAtCapacity: false, nowMs: now.getTime() };
  if (claimRefusal(question) !== undefined) return false;
  const { token, jobId, slot, source = null } = claim;
  draft.patch(claim, {
    status: "running",
    last_started_at: now.toISOString(),
    claim: { token, job_id: jobId, slot: slot.toISOString(), source },
  });
  return true;
}

/** What is known, completed by what holds of a schedule that never ran. A file may have a status that says nothing. */
function wholeState(known: Partial<ScheduleState>): ScheduleState {
  return { ...UNKNOWN_SCHEDULE, ...known, status: known.status ?? UNKNOWN_SCHEDULE.status };
}
