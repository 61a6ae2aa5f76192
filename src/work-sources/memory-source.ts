/**
 * Work items in memory, for hosts with their own source of work and for tests. `MemoryWork` has the items and their
 * states; `connect` creates an adapter, and each adapter holds its own claims.
 */
import { isFields } from "../fields.js";
import { type Clock, systemClock } from "../clock.js";
import { quote } from "../errors.js";
import { randomToken } from "../random.js";
import { readFields } from "./item-fields.js";
import { type Duration, readDuration } from "../duration.js";
import { claimExpiryMs, invalidSource, requireKnownKeys } from "./source-config.js";
import { compareWork } from "./work-order.js";
import type {
  FetchOptions,
  NewWork,
  WorkClaim,
  WorkItem,
  WorkOutcome,
  WorkSourceAdapter,
  WorkSourceConfig,
} from "./work-source.js";

export type WorkStanding = "available" | "done" | "failed" | "working";

export interface MemoryWorkOptions {
  readonly items?: readonly NewWork[] | undefined;
  /**
   * How long a claim lasts: milliseconds, or text such as "1h".
   * @default 3_600_000
   */
  readonly claimExpiryMs?: Duration | undefined;
  readonly clock?: Clock | undefined;
}

/** An item and its state. */
interface Entry {
  readonly item: WorkItem;
  claim: { readonly expiresMs: number } | undefined;
  outcome: WorkOutcome | undefined;
}

export class MemoryWork {
  readonly #entries = new Map<string, Entry>();
  readonly #clock: Clock;
  readonly #claimExpiryMs: number;
  /** Makes the ids of the items unique. */
  readonly #token = randomToken();

  constructor({
    items = [],
    claimExpiryMs: expiryMs = 3_600_000,
    clock = systemClock,
  }: MemoryWorkOptions = {}) {
    this.#clock = clock;
    this.#claimExpiryMs = readDuration(expiryMs, "claimExpiryMs");
    for (const item of items) this.add(item);
  }

  add(work: NewWork): WorkItem {
    const fields = isFields(work) ? readFields(work) : { problem: `is ${quote(work)}` };
    if ("problem" in fields) throw invalidSource(`A work item ${fields.problem}.`);
    const { title, createdAt = this.#clock.now(), ...rest } = fields;
    if (title === undefined) throw invalidSource("A work item has no title: give it one.");
    const externalId = String(this.#entries.size + 1);
    const id = `memory:${this.#token}/${externalId}`;
    const item: WorkItem = {
      ...rest,
      id,
      source: "memory",
      externalId,
      title,
      createdAt,
      updatedAt: createdAt,
    };
    this.#entries.set(id, { item, claim: undefined, outcome: undefined });
    return item;
  }

  /** `undefined` for an unknown id. */
  standingOf(id: string): WorkStanding | undefined {
    const entry = this.#entries.get(id);
    if (entry === undefined) return undefined;
    if (entry.outcome !== undefined) return entry.outcome.outcome === "success" ? "done" : "failed";
    const isHeld = entry.claim !== undefined && entry.claim.expiresMs > this.#clock.now().getTime();
    return isHeld ? "working" : "available";
  }

  /** The outcome of an item; `undefined` before it is completed. */
  outcomeOf(id: string): WorkOutcome | undefined {
    return this.#entries.get(id)?.outcome;
  }

  /** All items, in the order in which they were added. */
  list(): readonly WorkItem[] {
    return [...this.#entries.values()].map(({ item }) => item);
  }

  connect(): WorkSourceAdapter {
    return new MemorySource(this, this.#entries, () => this.#clock.now().getTime() + this.#claimExpiryMs);
  }
}

/** An adapter of a MemoryWork. No call awaits anything, so each is atomic. */
class MemorySource implements WorkSourceAdapter {
  readonly #work: MemoryWork;
  readonly #entries: ReadonlyMap<string, Entry>;
  /** When a claim that is made now expires. */
  readonly #expiryMs: () => number;
  /** The claims of this adapter. It has lost an item whose entry has a different claim. */
  readonly #claims = new Map<string, Entry["claim"]>();

  constructor(work: MemoryWork, entries: ReadonlyMap<string, Entry>, expiryMs: () => number) {
    this.#work = work;
    this.#entries = entries;
    this.#expiryMs = expiryMs;
  }

  async fetchAvailableWork({ limit = 50, signal }: FetchOptions = {}): Promise<readonly WorkItem[]> {
    signal?.throwIfAborted();
    const available = this.#work.list().filter(({ id }) => this.#work.standingOf(id) === "available");
    return available.toSorted(compareWork).slice(0, limit);
  }

  async claimWork(id: string): Promise<WorkClaim> {
    const entry = this.#entries.get(id);
    const standing = this.#work.standingOf(id);
    if (entry === undefined || standing !== "available")
      return { isClaimed: false, reason: standing === "working" ? "taken" : "gone" };
    return { isClaimed: true, item: entry.item, expiresAt: this.#claim(id, entry) };
  }

  async renewWork(id: string): Promise<boolean> {
    const entry = this.#held(id);
    if (entry !== undefined) this.#claim(id, entry);
    return entry !== undefined;
  }

  async completeWork(id: string, outcome: WorkOutcome): Promise<boolean> {
    const entry = this.#end(id);
    if (entry !== undefined) entry.outcome = outcome;
    return entry !== undefined;
  }

  async releaseWork(id: string): Promise<boolean> {
    return this.#end(id) !== undefined;
  }

  async getWork(id: string): Promise<WorkItem | undefined> {
    return this.#entries.get(id)?.item;
  }

  #claim(id: string, entry: Entry): Date {
    entry.claim = { expiresMs: this.#expiryMs() };
    this.#claims.set(id, entry.claim);
    return new Date(entry.claim.expiresMs);
  }

  /** The item, unless a different adapter has claimed it since. */
  #held(id: string): Entry | undefined {
    const entry = this.#entries.get(id);
    return entry?.claim !== undefined && entry.claim === this.#claims.get(id) ? entry : undefined;
  }

  #end(id: string): Entry | undefined {
    const entry = this.#held(id);
    this.#claims.delete(id);
    if (entry !== undefined) entry.claim = undefined;
    return entry;
  }
}

/** `{ type: "memory", items, claim_expiry }`: each adapter has its own copy of the items. */
export function createMemorySource(
  config: WorkSourceConfig,
  { clock }: { readonly clock: Clock },
): WorkSourceAdapter {
  requireKnownKeys(config, ["items", "claim_expiry"]);
  const { items = [] } = config;
  if (!Array.isArray(items))
    throw invalidSource(`The items of a work source of type "memory" are ${quote(items)}, expected a list.`);
  return new MemoryWork({ items, claimExpiryMs: claimExpiryMs(config), clock }).connect();
}
