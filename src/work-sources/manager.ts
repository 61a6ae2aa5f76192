/**
 * Gives work to agents: the most urgent item of a source that nobody else is faster to claim, and its way back there.
 * How a claim is exclusive is the adapter's business; which claim a report is about is decided here.
 */
import { BoundedCache } from "../bounded-cache.js";
import { type Clock, systemClock } from "../clock.js";
import { messageOf, quote } from "../errors.js";
import { guarded, type Logger, processLogger } from "../logger.js";
import { ClaimLedger, type HeldWork } from "./held-work.js";
import { WorkSourceError } from "./errors.js";
import { defaultRegistry, type WorkSourceRegistry } from "./registry.js";
import { configKey, requireConfig } from "./source-config.js";
import { compareWork } from "./work-order.js";
import type { ReleaseOptions, WorkItem, WorkOutcome, WorkSourceAdapter } from "./work-source.js";

export interface WorkSourceManagerOptions {
  /** @default the one that registerWorkSource adds to */
  readonly registry?: WorkSourceRegistry | undefined;
  readonly clock?: Clock | undefined;
  readonly logger?: Logger | undefined;
}

/** Whoever works: only its name counts. */
export interface WorkingAgent {
  readonly name: string;
}

export interface NextWorkOptions {
  /** The `work_source` of a schedule. */
  readonly workSource: unknown;
  /**
   * `false` only looks: the item is not held, and others may take it.
   * @default true
   */
  readonly autoClaim?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

export type NextWork =
  | {
      readonly item: WorkItem;
      /** Names the claim, for reports that must not be taken for those of a later one; none when only looking. */
      readonly claim: string | undefined;
      /** How often to call `renewWorkItem` while the job runs; `undefined` when the claim does not expire. */
      readonly renewEveryMs: number | undefined;
      readonly isLost: false;
    }
  /** `isLost`: there was work, but others were faster. */
  | { readonly item: undefined; readonly isLost: boolean };

/** Who holds the item that is spoken of. */
export interface HolderOptions {
  readonly agent: WorkingAgent;
  /** Of the answer to getNextWorkItem. Without it, the agent's newest claim on the item is meant. */
  readonly claim?: string | undefined;
}

const PAGE = 50;
/** How many pages are tried when each was taken away whole. */
const PAGES = 3;
/** Far more than a fleet has. One that is forgotten is made again; claims keep their own. */
const ADAPTERS = 1_000;

export class WorkSourceManager {
  readonly #registry: WorkSourceRegistry;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #adapters = new BoundedCache<string, WorkSourceAdapter>(ADAPTERS);
  readonly #ledger = new ClaimLedger();
  /** What calls of this manager are claiming right now: to try that too would be in vain. */
  readonly #beingClaimed = new Set<string>();

  constructor({ registry, clock = systemClock, logger = processLogger }: WorkSourceManagerOptions = {}) {
    this.#registry = registry ?? defaultRegistry();
    this.#clock = clock;
    this.#logger = guarded(logger);
  }

  /** The item that comes first, claimed for the agent. No two calls are given the same one. */
  async getNextWorkItem(agent: WorkingAgent, options: NextWorkOptions): Promise<NextWork> {
    const { workSource, autoClaim = true, signal } = options;
    const config = requireConfig(workSource);
    const { type } = config;
    const key = configKey(config);
    const adapter = this.#adapters.get(key) ?? this.#adapters.set(key, this.#create(config));
    return sensible(type, signal, async () => {
      for (let page = 1, isLost = false; page <= PAGES; page++) {
        signal?.throwIfAborted();
        const items = await adapter.fetchAvailableWork({ limit: PAGE, signal });
        const [first, ...others] = items.toSorted(compareWork);
        if (first === undefined) return { item: undefined, isLost };
        if (!autoClaim) return { item: first, claim: undefined, renewEveryMs: undefined, isLost: false };
        const next = await this.#claimFirst({ agent: agent.name, type, adapter }, [first, ...others], signal);
        if (next !== undefined) return next;
        isLost = true;
        if (items.length < PAGE) break;
      }
      return { item: undefined, isLost: true };
    });
  }

  /**
   * Ends the agent's claim with what came of the item, and answers whether it was still held. May be called again; when
   * it throws, it should be.
   */
  async reportOutcome(id: string, outcome: WorkOutcome, holder: HolderOptions): Promise<boolean> {
    return this.#end(id, holder, (held) => held.adapter.completeWork(id, outcome));
  }

  /** Gives the item back for anybody to take, and answers whether it was still held. May be called again. */
  async releaseWorkItem(id: string, options: HolderOptions & ReleaseOptions): Promise<boolean> {
    const { reason, addComment } = options;
    return this.#end(id, options, (held) => held.adapter.releaseWork(id, { reason, addComment }));
  }

  /** Keeps a claim from expiring, and answers whether it is still held. */
  async renewWorkItem(id: string, holder: HolderOptions): Promise<boolean> {
    const held = this.#find(id, holder);
    if (held === "ended") return false;
    return sensible(held.type, undefined, async () => held.adapter.renewWork?.(id) ?? true);
  }

  #create(config: ReturnType<typeof requireConfig>): WorkSourceAdapter {
    return this.#registry.create(config, { clock: this.#clock, logger: this.#logger });
  }

  /** `undefined` when others were faster with all of them. */
  async #claimFirst(
    about: Pick<HeldWork, "adapter" | "agent" | "type">,
    items: readonly WorkItem[],
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
        const held = this.#ledger.add({ ...about, id });
        if (signal?.aborted === true) await this.#giveUp(held);
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

  /** Nobody waits for the item any more. If it cannot be given back, its claim expires. */
  async #giveUp(held: HeldWork): Promise<void> {
    this.#ledger.end(held);
    try {
      await held.adapter.releaseWork(held.id, { reason: "Nobody waits for it any more." });
    } catch (error) {
      this.#logger.warn(`Could not give back the work item ${held.id}: ${messageOf(error)}`);
    }
  }

  async #end(id: string, holder: HolderOptions, end: (held: HeldWork) => Promise<boolean>): Promise<boolean> {
    const held = this.#find(id, holder);
    if (held === "ended") return false;
    const wasHeld = await sensible(held.type, undefined, () => end(held));
    // Only now: what failed may be tried again.
    this.#ledger.end(held);
    return wasHeld;
  }

  #find(id: string, { agent, claim }: HolderOptions): HeldWork | "ended" {
    const held = this.#ledger.find({ agent: agent.name, id, claim });
    if (held !== undefined) return held;
    throw new WorkSourceError(
      `Agent ${quote(agent.name)} has claimed no work item ${quote(id)}: report on what getNextWorkItem gave it.`,
      { code: "UNKNOWN_WORK_ITEM" },
    );
  }
}

/** An adapter may be anybody's: whatever it throws says which source it is about. */
async function sensible<T>(type: string, signal: AbortSignal | undefined, act: () => Promise<T>): Promise<T> {
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
