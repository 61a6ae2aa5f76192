/**
 * A store whose states outlive it, as a file does: a successor takes them over as they were when the process died. It lets
 * the guarantees see every change at the moment it is made.
 */
import type { JobLog } from "../../src/state/job-log/job-log.js";
import type { MemoryStore } from "../../src/state/memory/memory-store.js";
import type { ScheduleState, ScheduleStatePatch } from "../../src/state/schedule-state.js";
import type {
  Claim,
  ClaimEnd,
  ClaimRefusal,
  ClaimToken,
  DueSlots,
  ScheduleChange,
  ScheduleDefinition,
  ScheduleKey,
  StateStore,
} from "../../src/state/store.js";
import type { StateOperation } from "../../src/state/owner/operations.js";
import type { KnownState, StateView, StateWitness } from "./stores.js";
import type { ProcessClock } from "./virtual-clock.js";

export interface SurvivingStore extends StateStore, StateView {
  readonly jobs: JobLog;
  /** Takes over what a dead process left. */
  inherit(from: SurvivingStore): Promise<void>;
}

export interface SurvivingStoreOptions {
  readonly clock: ProcessClock;
  readonly leaseMs: number;
  readonly witness: StateWitness;
  /** That of the process before. */
  readonly log: JobLog | undefined;
}

export function survivingStore(
  Base: typeof MemoryStore,
  { clock, leaseMs, witness, log }: SurvivingStoreOptions,
): SurvivingStore {
  class Store extends Base implements SurvivingStore {
    override readonly jobs: JobLog;
    definitions: readonly ScheduleDefinition[] = [];
    readonly #keys = new Map<string, ScheduleKey>();
    readonly #given = new Set<string>();
    #wasOpen = false;
    #isInheriting = false;

    constructor() {
      super({ clock, leaseMs });
      this.jobs = log ?? new Base({ clock }).jobs;
    }

    override async open(): Promise<void> {
      if (!this.#wasOpen) {
        this.#wasOpen = true;
        for (const { id } of await this.jobs.list({ status: "running", limit: Infinity }))
          await this.jobs.finish(id, { status: "interrupted" });
      }
      await super.open();
    }

    override async define(definitions: readonly ScheduleDefinition[]): Promise<readonly ScheduleState[]> {
      const states = await super.define(definitions);
      this.definitions = definitions;
      return states;
    }

    override async complete(claim: ClaimToken, change: ScheduleChange): Promise<boolean> {
      const before = this.known(claim);
      const isHeld = await super.complete(claim, change);
      if (isHeld) witness.completed(claim, before);
      return isHeld;
    }

    override async completeAll(ends: readonly ClaimEnd[]): Promise<readonly boolean[]> {
      const before = ends.map(({ claim }) => this.known(claim));
      const areHeld = await super.completeAll(ends);
      for (const [index, { claim }] of ends.entries())
        if (areHeld[index] === true) witness.completed(claim, before[index] ?? {});
      return areHeld;
    }

    override async claimDue(limit: number): Promise<DueSlots> {
      const due = await super.claimDue(limit);
      for (const { token } of due.claims) this.#given.add(token);
      return due;
    }

    override async claim(key: ScheduleKey): Promise<Claim | ClaimRefusal> {
      const claim = await super.claim(key);
      if (typeof claim !== "string") this.#given.add(claim.token);
      return claim;
    }

    /** A claim that nobody was given is a slot that is only reserved. */
    #told(state: KnownState): KnownState {
      return this.#given.has(state.claim?.token ?? "") ? state : this.seen(state);
    }

    *keys(): Iterable<ScheduleKey> {
      yield* this.#keys.values();
    }

    peek(key: ScheduleKey): KnownState {
      return this.seen(this.known(key));
    }

    stored(key: ScheduleKey): KnownState {
      return this.known(key);
    }

    /** Whoever opens it takes it over from the dead at once. */
    isLeft(): boolean {
      return false;
    }

    async edit({ agent, schedule }: ScheduleKey, patch: ScheduleStatePatch): Promise<void> {
      const key = { agent, schedule };
      await this.commit({
        apply: (draft) => {
          draft.patch(key, patch);
        },
      });
      this.noteOutsideChanges([{ ...key, keys: Object.keys(patch) as (keyof ScheduleState)[] }]);
    }

    async inherit(from: SurvivingStore): Promise<void> {
      this.#isInheriting = true;
      for (const key of from.keys()) await this.update(key, { ...from.stored(key) });
      this.#isInheriting = false;
    }

    protected override commit(operation: StateOperation): Promise<void> {
      return super.commit({
        apply: (draft) =>
          operation.apply({
            read: (key) => draft.read(key),
            keys: () => draft.keys(),
            patch: ({ agent, schedule }, patch) => {
              const key = { agent, schedule };
              const before = this.#told(this.known(key));
              const after = draft.patch(key, patch);
              this.#keys.set(`${agent}/${schedule}`, key);
              if (!this.#isInheriting) witness.changed(key, before, this.#told(after));
              return after;
            },
          }),
      });
    }
  }
  return new Store();
}
