/** States as a file keeps them: one process has them, and who comes after it takes them over at once. */
import type { StateLockedError } from "../../src/state/errors.js";
import type { MemoryStore } from "../../src/state/memory/memory-store.js";
import type { StateStore } from "../../src/state/store.js";
import type { BootedStore, Stores, StateWitness, WorstMoment } from "./stores.js";
import { type SurvivingStore, survivingStore } from "./surviving-store.js";
import { TroubledStore, type Weather } from "./troubled-store.js";
import type { ProcessClock } from "./virtual-clock.js";
import type { World } from "./world.js";

export interface MemoryStoresOptions {
  readonly Store: typeof MemoryStore;
  readonly Locked: typeof StateLockedError;
  readonly world: World;
  readonly weather: Weather;
  readonly witness: StateWitness;
}

export class MemoryStores implements Stores {
  readonly isShared = false;
  readonly #options: MemoryStoresOptions;
  readonly #overtaken: TroubledStore[] = [];
  #last: SurvivingStore | undefined;

  constructor(options: MemoryStoresOptions) {
    this.#options = options;
  }

  async boot(clock: ProcessClock, onMoment: (moment: WorstMoment) => void): Promise<BootedStore> {
    const { Store, Locked, world, weather, witness } = this.#options;
    const before = this.#last;
    const { leaseMs } = world;
    const onFault = (what: string): void => {
      world.lastFaultMs = world.nowMs;
      world.note(`the disk fails: ${what}`);
      onMoment("fault");
    };
    const inner = survivingStore(Store, { clock, leaseMs, witness, weather, onFault, log: before?.jobs });
    if (before !== undefined) await inner.inherit(before);
    for (const store of this.#overtaken) store.inner = inner;
    this.#last = inner;
    const store = new TroubledStore({ inner, clock, world, weather, Locked, onMoment });
    return { store, view: inner, calls: store };
  }

  overtake(store: StateStore): void {
    if (!(store instanceof TroubledStore)) return;
    store.isOvertaken = true;
    this.#overtaken.push(store);
  }

  check(): void {}
}
