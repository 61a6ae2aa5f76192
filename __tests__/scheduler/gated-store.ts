/** A memory store whose calls can be held back or made to fail, one kind of call at a time, alone or for several. */
import {
  type Claim,
  type ClaimRefusal,
  type ClaimToken,
  type Clock,
  type DefinedSchedule,
  type Definitions,
  type DueSlots,
  type FinishResult,
  type JobFinish,
  type JobRecord,
  MemoryStore,
  type MemoryStoreOptions,
  type OutsideChange,
  type ScheduleChange,
  type ScheduleDecision,
  type ScheduleKey,
  type ScheduleState,
} from "../../src/index.js";
import { longestHoldMs } from "../../src/state/lease-length.js";
import type { OwnedJobLog } from "../../src/state/owner/owned-job-log.js";

export type StoreCall =
  | "open"
  | "close"
  | "define"
  | "read"
  | "list"
  | "update"
  | "updateAll"
  | "claimDue"
  | "claim"
  | "renew"
  | "startJobs"
  | "finishJobs"
  /** The part of `finishJobs` that closes records, which may take longer than the ends of claims. */
  | "closeRecords";

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

export interface GatedStoreOptions extends MemoryStoreOptions {
  /** Whether it behaves as if other nodes could claim from it. */
  readonly isShared?: boolean | undefined;
}

export class GatedStore extends MemoryStore {
  readonly holdMs: number | undefined;
  /** Calls that fail, for as long as they are in here. */
  readonly broken: Set<StoreCall> = new Set();
  readonly #gates = new Map<StoreCall, HeldGate>();
  readonly #failures = new Map<StoreCall, { readonly error: Error; times: number }>();
  readonly #lateFailures = new Map<StoreCall, Error>();
  readonly #counts = new Map<StoreCall, number>();
  readonly #listeners = new Set<unknown>();

  constructor({ isShared = false, ...options }: GatedStoreOptions = {}) {
    super(options);
    this.holdMs = isShared ? longestHoldMs(this.leaseMs) : undefined;
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

  /** Makes the next call fail after it has had its effect. */
  failAfter(call: StoreCall, error: Error): void {
    this.#lateFailures.set(call, error);
  }

  /** Makes the next `times` calls fail. */
  fail(call: StoreCall, error: Error, times = 1): void {
    this.#failures.set(call, { error, times });
  }

  /** Changes a state as another process would, and tells the listeners. */
  async changeFromOutside({ agent, schedule }: ScheduleKey, change: Partial<ScheduleState>): Promise<void> {
    await super.update({ agent, schedule }, change);
    const keys = Object.keys(change) as (keyof ScheduleState)[];
    this.noteOutsideChanges([{ agent, schedule, keys }]);
  }

  override open(clock?: Clock): Promise<void> {
    return this.#through("open", () => super.open(clock));
  }

  override close(): Promise<void> {
    return this.#through("close", () => super.close());
  }

  override define(definitions: Definitions): Promise<readonly DefinedSchedule[]> {
    return this.#through("define", () => super.define(definitions));
  }

  override read(key: ScheduleKey): Promise<ScheduleState> {
    return this.#through("read", () => super.read(key));
  }

  override list(agent: string): Promise<ReadonlyMap<string, ScheduleState>> {
    return this.#through("list", () => super.list(agent));
  }

  override update(key: ScheduleKey, change: ScheduleChange): Promise<ScheduleState> {
    return this.#through("update", () => super.update(key, change));
  }

  override updateAll(keys: readonly ScheduleKey[], decide: ScheduleDecision): Promise<void> {
    return this.#through("updateAll", () => super.updateAll(keys, decide));
  }

  override claimDue(limit: number): Promise<DueSlots> {
    return this.#through("claimDue", () => super.claimDue(limit));
  }

  override claim(key: ScheduleKey): Promise<Claim | ClaimRefusal> {
    return this.#through("claim", () => super.claim(key));
  }

  override renew(claim: ClaimToken): Promise<boolean> {
    return this.#through("renew", () => super.renew(claim));
  }

  override startJobs(jobs: readonly JobRecord[]): Promise<void> {
    return this.#through("startJobs", () => super.startJobs(jobs));
  }

  override finishJobs(ends: readonly JobFinish[]): Promise<readonly FinishResult[]> {
    return this.#through("finishJobs", () => super.finishJobs(ends));
  }

  override onChange(listener: (changes: readonly OutsideChange[]) => void): () => void {
    const stop = super.onChange(listener);
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
      stop();
    };
  }

  protected override get log(): OwnedJobLog {
    const log = super.log;
    const closeRecords: OwnedJobLog["closeRecords"] = (records) =>
      this.#through("closeRecords", () => log.closeRecords(records));
    return new Proxy(log, {
      get: (_, name) => {
        if (name === "closeRecords") return closeRecords;
        const value: unknown = Reflect.get(log, name, log);
        return typeof value === "function" ? value.bind(log) : value;
      },
    });
  }

  async #through<Result>(call: StoreCall, act: () => Promise<Result>): Promise<Result> {
    this.#counts.set(call, this.count(call) + 1);
    const gate = this.#gates.get(call);
    if (gate?.side === "before") await gate.pass();
    if (this.broken.has(call)) throw new Error(`disk full at ${call}`);
    const failure = this.#failures.get(call);
    if (failure !== undefined && failure.times-- > 0) throw failure.error;
    const result = await act();
    if (gate?.side === "after") await gate.pass();
    const late = this.#lateFailures.get(call);
    this.#lateFailures.delete(call);
    if (late !== undefined) throw late;
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
