/**
 * What a work source is: a place where units of work wait, are claimed, and are completed or given back.
 * Which item is taken next is the manager's decision; how a claim is exclusive is each adapter's.
 */

export type WorkPriority = "critical" | "high" | "medium" | "low";

/** A unit of outside work: an issue, a file, a row. */
export interface WorkItem {
  /** Unlike any other, also of other sources. */
  readonly id: string;
  /** The type of the source it came from: "directory". */
  readonly source: string;
  /** What the source itself calls it: an issue's number, a file's name. */
  readonly externalId: string;
  readonly title: string;
  readonly description: string;
  readonly priority: WorkPriority;
  readonly labels: readonly string[];
  /** Whatever else the source says of it, as JSON values. */
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly url: string | undefined;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** What came of a work item. */
export interface WorkOutcome {
  readonly outcome: "success" | "failure";
  readonly summary: string;
  readonly details?: string | undefined;
  /** What was made of it: files, addresses. */
  readonly artifacts?: readonly string[] | undefined;
  readonly error?: string | undefined;
}

export interface ReleaseOptions {
  readonly reason?: string | undefined;
  /** Whether the reason is written where people see it, if the source has such a place. */
  readonly addComment?: boolean | undefined;
}

/** A claim on a work item, or why there is none. */
export type WorkClaim =
  | {
      readonly isClaimed: true;
      readonly item: WorkItem;
      /** When others may take it, unless it is renewed; a claim without it lasts until it is ended. */
      readonly expiresAt?: Date | undefined;
    }
  /** `taken`: another was faster, or has it. `gone`: it is no longer there, or no longer available. */
  | { readonly isClaimed: false; readonly reason: "taken" | "gone" };

export interface FetchOptions {
  /**
   * How many items at most, those first that are to be taken first as far as the source can tell.
   * @default 50
   */
  readonly limit?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Any number of adapters, in any number of processes, may share one source. */
export interface WorkSourceAdapter {
  /** Items that nobody has claimed, or whose claim has expired. */
  fetchAvailableWork(options?: FetchOptions): Promise<readonly WorkItem[]>;
  /** Claims an item for this adapter: of all that try at the same time, one succeeds. */
  claimWork(id: string): Promise<WorkClaim>;
  /**
   * Ends a claim with what came of it, and answers whether it was still held. A failure stays visible and is not taken
   * again by itself.
   */
  completeWork(id: string, outcome: WorkOutcome): Promise<boolean>;
  /** Gives a claimed item back, for anybody to take, and answers whether its claim was still held. */
  releaseWork(id: string, options?: ReleaseOptions): Promise<boolean>;
  /** Lets a claim last as long again from now, and answers whether it was still held. For claims that expire. */
  renewWork?(id: string): Promise<boolean>;
  /** An item wherever it stands; `undefined` when it is unknown. */
  getWork(id: string): Promise<WorkItem | undefined>;
}

/** How the `work_source` of a schedule looks: its type, and what an adapter of that type needs. */
export interface WorkSourceConfig {
  readonly type: string;
  readonly [key: string]: unknown;
}
