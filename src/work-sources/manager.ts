/**
 * Claims work items for agents, the most urgent first, and passes their outcomes back to the source.
 * The adapter makes a claim exclusive; the manager decides which claim a report is about.
 */
import { BoundedCache } from "../bounded-cache.js";
import { type Clock, systemClock } from "../clock.js";
import { messageOf, quote } from "../errors.js";
import { guarded, type Logger, processLogger } from "../logger.js";
import { type HeldWork, HeldWorkItems } from "./held-work.js";
import { WorkSourceError } from "./errors.js";
import { defaultRegistry, type WorkSourceRegistry } from "./registry.js";
import { configKey, requireConfig } from "./source-config.js";
import { compareWork } from "./work-order.js";
import type { ReleaseOptions, WorkItem, WorkOutcome, WorkSourceAdapter } from "./work-source.js";

export interface WorkSourceManagerOptions {
  /** @default the registry that registerWorkSource adds to */
  readonly registry?: WorkSourceRegistry | undefined;
  readonly clock?: Clock | undefined;
  readonly logger?: Logger | undefined;
}

/** The agent that an item is claimed for, by its name. */
export interface WorkingAgent {
  readonly name: string;
}

export interface NextWorkOptions {
  /** The `work_source` of a schedule. */
  readonly workSource: unknown;
  /**
   * `false` returns an item without claiming it.
   * @default true
   */
  readonly autoClaim?: boolean | undefined;
  /** The id of an item to claim before any other, if it is available. */
  readonly itemId?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

export type NextWork =
  | {
      readonly item: WorkItem;
      /** The id of the claim, to pass with reports about it; `undefined` without a claim. */
      readonly claim: string | undefined;
      /** How often to call `renewWorkItem` while the job runs; `undefined` for a claim that does not expire. */
      readonly renewEveryMs: number | undefined;
      readonly isLost: false;
    }
  /** `isLost`: there were items, but other claimers took all of them. */
  | { readonly item: undefined; readonly isLost: boolean };

/** The agent and the claim that a report is about. */
export interface HolderOptions {
  readonly agent: WorkingAgent;
  /** The `claim` that getNextWorkItem returned. @default the agent's newest claim on the item */
  readonly claim?: string | undefined;
}

const PAGE = 50;
/** How many pages are tried when other claimers take every item of a page. */
const PAGES = 3;
/** Far more than a fleet has. An evicted adapter is created again; a claim keeps its adapter. */
const ADAPTERS = 1_000;

export class WorkSourceManager {
  readonly #registry: WorkSourceRegistry;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #adapters = new BoundedCache<string, WorkSourceAdapter>(ADAPTERS);
  readonly #held = new HeldWorkItems();
  /** The items that calls of this manager are claiming now: a second claim would only lose. */
  readonly #beingClaimed = new Set<string>();

  constructor({ registry, clock = systemClock, logger = processLogger }: WorkSourceManagerOptions = {}) {
    this.#registry = registry ?? defaultRegistry();
    this.#clock = clock;
    this.#logger = guarded(logger);
  }

  /** The types of work sources that it knows. */
  get types(): readonly string[] {
    return this.#registry.types;
  }

  /** The most urgent item, claimed for the agent. No two calls get the same item. */
  async getNextWorkItem(agent: WorkingAgent, options: NextWorkOptions): Promise<NextWork> {
    const { workSource, autoClaim = true, itemId, signal } = options;
    const config = requireConfig(workSource);
    const { type } = config;
    const key = configKey(config);
    const adapter = this.#adapters.get(key) ?? this.#adapters.keep(key, this.#create(config));
    const about = { agent: agent.name, type, adapter };
    return callAdapter(type, signal, async () => {
      const wished = itemId === undefined || !autoClaim ? undefined : [{ id: itemId }];
      const again = wished && (await this.#claimFirst(about, wished, signal));
      if (again !== undefined) return again;
      for (let page = 1, isLost = false; page <= PAGES; page++) {
        signal?.throwIfAborted();
        const items = await adapter.fetchAvailableWork({ limit: PAGE, signal });
        const [first, ...others] = items.toSorted(compareWork);
        if (first === undefined) return { item: undefined, isLost };
        if (!autoClaim) return { item: first, claim: undefined, renewEveryMs: undefined, isLost: false };
        const next = await this.#claimFirst(about, [first, ...others], signal);
        if (next !== undefined) return next;
        isLost = true;
        if (items.length < PAGE) break;
      }
      return { item: undefined, isLost: true };
    });
  }

  /**
   * Ends the agent's claim with the outcome, and returns whether it was still held. Idempotent: call it again when it
   * throws.
   */
  async reportOutcome(id: string, outcome: WorkOutcome, holder: HolderOptions): Promise<boolean> {
    return this.#end(id, holder, (held) => held.adapter.completeWork(id, outcome));
  }

  /** Makes the item available again, and returns whether it was still held. Idempotent. */
  async releaseWorkItem(id: string, options: HolderOptions & ReleaseOptions): Promise<boolean> {
    const { reason, addComment } = options;
    return this.#end(id, options, (held) => held.adapter.releaseWork(id, { reason, addComment }));
  }

  /** Keeps a claim from expiring, and returns whether it is still held. */
  async renewWorkItem(id: string, holder: HolderOptions): Promise<boolean> {
    const held = this.#find(id, holder);
    if (held === "ended") return false;
    return callAdapter(held.type, undefined, async () => held.adapter.renewWork?.(id) ?? true);
  }

  #create(config: ReturnType<typeof requireConfig>): WorkSourceAdapter {
    return this.#registry.create(config, { clock: this.#clock, logger: this.#logger });
  }

  /** `undefined` when other claimers took all items. */
  async #claimFirst(
    about: Pick<HeldWork, "adapter" | "agent" | "type">,
    items: readonly Pick<WorkItem, "id">[],
    signal: AbortSignal | undefined,
  ): Promise<NextWork | undefined> {
    const { adapter } = about;
    for (const { id } of items) {
      signal?.throwIfAborted();
      if (this.#beingClaimed.has(id)) continue;
      this.#beingClaimed.add(id);
      try {
        const claim = await adapter.claimWork(id);
        if (!claim.isClaimed) continue;
        const held = this.#held.add({ ...about, id });
        if (signal?.aborted === true) await this.#releaseUnused(held);
        signal?.throwIfAborted();
        const leftMs = (claim.expiresAt?.getTime() ?? Infinity) - this.#clock.now().getTime();
        const isRenewable = leftMs < Infinity && adapter.renewWork !== undefined;
        const renewEveryMs = isRenewable ? Math.max(1, Math.floor(leftMs / 3)) : undefined;
        return { item: claim.item, claim: held.claim, renewEveryMs, isLost: false };
      } finally {
        this.#beingClaimed.delete(id);
      }
    }
    return undefined;
  }

  /** Releases an item whose caller has aborted. If that fails, the claim expires. */
  async #releaseUnused(held: HeldWork): Promise<void> {
    this.#held.end(held);
    try {
      await held.adapter.releaseWork(held.id, { reason: "The request for work was cancelled." });
    } catch (error) {
      this.#logger.warn(`Could not release the work item ${held.id}: ${messageOf(error)}`);
    }
  }

  async #end(id: string, holder: HolderOptions, end: (held: HeldWork) => Promise<boolean>): Promise<boolean> {
    const held = this.#find(id, holder);
    if (held === "ended") return false;
    const wasHeld = await callAdapter(held.type, undefined, () => end(held));
    // Not before: a failed report may be repeated.
    this.#held.end(held);
    return wasHeld;
  }

  #find(id: string, { agent, claim }: HolderOptions): HeldWork | "ended" {
    const held = this.#held.find({ agent: agent.name, id, claim });
    if (held !== undefined) return held;
    throw new WorkSourceError(
      `Agent ${quote(agent.name)} has not claimed the work item ${quote(id)}: report on an item that getNextWorkItem returned.`,
      { code: "UNKNOWN_WORK_ITEM" },
    );
  }
}

/** Runs a call of an adapter: an error that is not a WorkSourceError becomes one that names the source. */
async function callAdapter<T>(
  type: string,
  signal: AbortSignal | undefined,
  act: () => Promise<T>,
): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if (error instanceof WorkSourceError || signal?.aborted === true) throw error;
    throw new WorkSourceError(`The work source of type ${quote(type)} failed: ${messageOf(error)}`, {
      code: "WORK_SOURCE_UNAVAILABLE",
      cause: error,
    });
  }
}
