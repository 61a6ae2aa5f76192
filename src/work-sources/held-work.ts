/**
 * The work items that agents hold, each with its claim and its adapter. When an item is claimed again, its older claim
 * ends, even if the agent that holds it does not know that yet.
 */
import { BoundedCache } from "../bounded-cache.js";
import { randomToken } from "../random.js";
import type { WorkSourceAdapter } from "./work-source.js";

export interface HeldWork {
  readonly agent: string;
  readonly id: string;
  readonly adapter: WorkSourceAdapter;
  /** The type of the source. */
  readonly type: string;
  /** The id of the claim. */
  readonly claim: string;
}

/** A claim of an agent on an item. */
export interface ClaimQuery {
  readonly agent: string;
  readonly id: string;
  /** @default the agent's newest claim on the item */
  readonly claim?: string | undefined;
}

/** How many ended claims are kept, to distinguish a second report from a report about an unknown item. */
const ENDED = 10_000;

export class HeldWorkItems {
  readonly #byClaim = new Map<string, HeldWork>();
  /** The newest claim of an agent on an item. */
  readonly #byAgent = new Map<string, HeldWork>();
  readonly #byItem = new WeakMap<WorkSourceAdapter, Map<string, HeldWork>>();
  readonly #ended = new BoundedCache<string, true>(ENDED);

  add(work: Omit<HeldWork, "claim">): HeldWork {
    const { adapter, id } = work;
    const items = this.#itemsOf(adapter);
    const older = items.get(id);
    if (older !== undefined) this.end(older);
    const held = { ...work, claim: randomToken() };
    this.#byClaim.set(held.claim, held);
    this.#byAgent.set(keyOf(held), held);
    items.set(id, held);
    return held;
  }

  /** The claim, or "ended" after its end; `undefined` for an unknown claim. */
  find(query: ClaimQuery): HeldWork | "ended" | undefined {
    const { agent, id, claim } = query;
    const held = claim === undefined ? this.#byAgent.get(keyOf(query)) : this.#byClaim.get(claim);
    if (held !== undefined && held.agent === agent && held.id === id) return held;
    return this.#ended.get(claim ?? keyOf(query)) === undefined ? undefined : "ended";
  }

  /** May be called again. */
  end(held: HeldWork): void {
    if (!this.#byClaim.delete(held.claim)) return;
    const items = this.#itemsOf(held.adapter);
    if (items.get(held.id) === held) items.delete(held.id);
    if (this.#byAgent.get(keyOf(held)) === held) this.#byAgent.delete(keyOf(held));
    this.#ended.set(held.claim, true);
    this.#ended.set(keyOf(held), true);
  }

  #itemsOf(adapter: WorkSourceAdapter): Map<string, HeldWork> {
    const known = this.#byItem.get(adapter);
    if (known !== undefined) return known;
    const items = new Map<string, HeldWork>();
    this.#byItem.set(adapter, items);
    return items;
  }
}

function keyOf({ agent, id }: ClaimQuery): string {
  return JSON.stringify([agent, id]);
}
