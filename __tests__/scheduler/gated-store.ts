/** A memory store whose calls can be held back or made to fail, one kind of call at a time, alone or for several. */
import type {
  Claim,
  ClaimEnd,
  ClaimRefusal,
  ClaimToken,
  Clock,
  DueSlots,
  JobLog,
  MemoryStoreOptions,
  OutsideChange,
  ScheduleChange,
  ScheduleDecision,
  ScheduleDefinition,
  ScheduleKey,
  ScheduleState,
  StateStore,
} from "../../src/index.js";
import { MemoryStore } from "../../src/index.js";

export type StoreCall =
  | "open"
  | "close"
  | "define"
  | "read"
  | "list"
  | "update"
  | "updateAll"
  | "claimDue"
  | "reserve"
  | "claim"
  | "renew"
  | "complete"
  | "release"
  | "nextDueAt"
  | "jobs.start"
  | "jobs.finish";

/** Holds calls back until it is opened: before they are carried out, or before their answer is given. */
export interface Gate {
  /** Resolves when the first call has come to the gate. */
  readonly reached: Promise<void>;
  open(): void;
}

interface HeldGate extends Gate {
  readonly side: "before" | "after";
  pass(): Promise<void>;
}

export class GatedStore implements StateStore {
  readonly jobs: JobLog;
  /** Whether it says that others share it. */
  readonly isShared: boolean;
  readonly #store: MemoryStore;
  readonly #gates = new Map<StoreCall, HeldGate>();
  readonly #failures = new Map<StoreCall, { readonly error: Error; times: number }>();
  readonly #lateFailures: Error[] = [];
  readonly #counts = new Map<StoreCall, number>();
  readonly #listeners = new Set<(changes: readonly OutsideChange[]) => void>();

  constructor({ isShared = false, ...options }: MemoryStoreOptions & { readonly isShared?: boolean } = {}) {
    this.isShared = isShared;
    this.#store = new MemoryStore(options);
    const log = this.#store.jobs;
    this.jobs = {
      start: (job) => this.#startThrough(() => log.start(job)),
      startAll: (jobs) => this.#startThrough(() => log.startAll(jobs)),
      finish: (id, outcome) => this.#through("jobs.finish", () => log.finish(id, outcome)),
      finishAll: (outcomes) => this.#through("jobs.finish", () => log.finishAll(outcomes)),
      get: (id) => log.get(id),
      list: (filter) => log.list(filter),
      openOutput: (id) => log.openOutput(id),
      readOutput: (id) => log.readOutput(id),
    };
  }

  get leaseMs(): number {
    return this.#store.leaseMs;
  }

  /** How many listen to changes from outside. */
  get listenerCount(): number {
    return this.#listeners.size;
  }

  /** How often it was called. */
  count(call: StoreCall): number {
    return this.#counts.get(call) ?? 0;
  }

  hold(call: StoreCall, side: HeldGate["side"] = "before"): Gate {
    const reached = new Signal();
    const opened = new Signal();
    const gate: HeldGate = {
      side,
      reached: reached.promise,
      pass: () => {
        reached.give();
        return opened.promise;
      },
      open: () => {
        if (this.#gates.get(call) === gate) this.#gates.delete(call);
        opened.give();
      },
    };
    this.#gates.set(call, gate);
    return gate;
  }

  openGates(): void {
    for (const gate of this.#gates.values()) gate.open();
  }

  /** Makes the next start of a job's record fail after it was written. */
  failAfterStart(error: Error): void {
    this.#lateFailures.push(error);
  }

  /** Makes the next `times` calls fail. */
  fail(call: StoreCall, error: Error, times = 1): void {
    this.#failures.set(call, { error, times });
  }

  /** Changes a state as another process would, and tells the listeners. */
  async changeFromOutside({ agent, schedule }: ScheduleKey, change: Partial<ScheduleState>): Promise<void> {
    await this.#store.update({ agent, schedule }, change);
    const keys = Object.keys(change) as (keyof ScheduleState)[];
    for (const listener of this.#listeners) listener([{ agent, schedule, keys }]);
  }

  open(clock?: Clock): Promise<void> {
    return this.#through("open", () => this.#store.open(clock));
  }

  close(): Promise<void> {
    return this.#through("close", () => this.#store.close());
  }

  define(schedules: readonly ScheduleDefinition[]): Promise<readonly ScheduleState[]> {
    return this.#through("define", () => this.#store.define(schedules));
  }

  read(key: ScheduleKey): Promise<ScheduleState> {
    return this.#through("read", () => this.#store.read(key));
  }

  list(agent: string): Promise<ReadonlyMap<string, ScheduleState>> {
    return this.#through("list", () => this.#store.list(agent));
  }

  update(key: ScheduleKey, change: ScheduleChange): Promise<ScheduleState> {
    return this.#through("update", () => this.#store.update(key, change));
  }

  updateAll(keys: readonly ScheduleKey[], decide: ScheduleDecision): Promise<void> {
    return this.#through("updateAll", () => this.#store.updateAll(keys, decide));
  }

  claimDue(limit: number): Promise<DueSlots> {
    return this.#through("claimDue", () => this.#store.claimDue(limit));
  }

  reserve(limit: number, aheadMs: number): Promise<void> {
    return this.#through("reserve", () => this.#store.reserve(limit, aheadMs));
  }

  claim(key: ScheduleKey): Promise<Claim | ClaimRefusal> {
    return this.#through("claim", () => this.#store.claim(key));
  }

  renew(claim: ClaimToken): Promise<boolean> {
    return this.#through("renew", () => this.#store.renew(claim));
  }

  complete(claim: ClaimToken, change: ScheduleChange): Promise<boolean> {
    return this.#through("complete", () => this.#store.complete(claim, change));
  }

  completeAll(ends: readonly ClaimEnd[]): Promise<readonly boolean[]> {
    return this.#through("complete", () => this.#store.completeAll(ends));
  }

  release(claim: ClaimToken): Promise<boolean> {
    return this.#through("release", () => this.#store.release(claim));
  }

  nextDueAt(lookedAt?: Date): Promise<Date | undefined> {
    return this.#through("nextDueAt", () => this.#store.nextDueAt(lookedAt));
  }

  onChange(listener: (changes: readonly OutsideChange[]) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #startThrough<Result>(act: () => Promise<Result>): Promise<Result> {
    const result = await this.#through("jobs.start", act);
    const failure = this.#lateFailures.shift();
    if (failure !== undefined) throw failure;
    return result;
  }

  async #through<Result>(call: StoreCall, act: () => Promise<Result>): Promise<Result> {
    this.#counts.set(call, this.count(call) + 1);
    const gate = this.#gates.get(call);
    if (gate?.side === "before") await gate.pass();
    const failure = this.#failures.get(call);
    if (failure !== undefined && failure.times-- > 0) throw failure.error;
    const result = await act();
    if (gate?.side === "after") await gate.pass();
    return result;
  }
}

/** Something that happens once, and can be waited for before and after. */
export class Signal {
  readonly promise: Promise<void>;
  give: () => void = () => {};

  constructor() {
    this.promise = new Promise((resolve) => {
      this.give = resolve;
    });
  }
}
