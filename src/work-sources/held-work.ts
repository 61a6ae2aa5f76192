/**
 * Who holds which work item through which adapter. An item that was claimed again belongs to the newer claim: the older
 * one has ended, whatever its holder believes.
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
  /** Names this one claim. */
  readonly claim: string;
}

/** Whose claim: of this agent on this item, and which one where it may have had several. */
export interface ClaimQuery {
  readonly agent: string;
  readonly id: string;
  readonly claim?: string | undefined;
}

/** How many claims are remembered after their end, to tell a second report from one about an unknown item. */
const ENDED = 10_000;

export class ClaimLedger {
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

  /** The claim while it lasts; whether it has ended; `undefined` when there was none that is remembered. */
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
