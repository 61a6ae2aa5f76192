/**
 * The contract of a work source: items wait in it, are claimed, and are completed or released.
 * The manager decides which item is claimed next; each adapter makes its claims exclusive.
 */

export type WorkPriority = "critical" | "high" | "medium" | "low";

/** A unit of work: an issue, a file, a row. */
export interface WorkItem {
  /** Unique across all sources. */
  readonly id: string;
  /** The type of the item's source: "directory". */
  readonly source: string;
  /** The id within the source: the number of an issue, the name of a file. */
  readonly externalId: string;
  readonly title: string;
  readonly description: string;
  readonly priority: WorkPriority;
  readonly labels: readonly string[];
  /** All other data of the source, as JSON values. */
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly url: string | undefined;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** The outcome of a work item. */
export interface WorkOutcome {
  readonly outcome: "success" | "failure";
  readonly summary: string;
  readonly details?: string | undefined;
  /** What the job produced: files, addresses. */
  readonly artifacts?: readonly string[] | undefined;
  readonly error?: string | undefined;
}

export interface ReleaseOptions {
  readonly reason?: string | undefined;
  /** Whether to write the reason as a comment, if the source has comments. */
  readonly addComment?: boolean | undefined;
}

/** A claim on a work item, or why the claim failed. */
export type WorkClaim =
  | {
      readonly isClaimed: true;
      readonly item: WorkItem;
      /** When the claim ends without a renewal. @default never */
      readonly expiresAt?: Date | undefined;
    }
  /** `taken`: a different adapter holds the item. `gone`: it was removed or is not available. */
  | { readonly isClaimed: false; readonly reason: "taken" | "gone" };

export interface FetchOptions {
  /**
   * The greatest number of items; the most urgent come first, as far as the source knows.
   * @default 50
   */
  readonly limit?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Several adapters, in several processes, may share one source. */
export interface WorkSourceAdapter {
  /** Items without a claim, or with an expired one. */
  fetchAvailableWork(options?: FetchOptions): Promise<readonly WorkItem[]>;
  /** Claims an item for this adapter. Of several concurrent calls on any adapters one succeeds. */
  claimWork(id: string): Promise<WorkClaim>;
  /**
   * Ends a claim with the outcome, and returns whether it was still held. A failed item stays visible, and is not
   * available again until a person makes it so.
   */
  completeWork(id: string, outcome: WorkOutcome): Promise<boolean>;
  /** Makes a claimed item available again, and returns whether its claim was still held. */
  releaseWork(id: string, options?: ReleaseOptions): Promise<boolean>;
  /** Starts the time of a claim anew, and returns whether it was still held. Only for claims that expire. */
  renewWork?(id: string): Promise<boolean>;
  /** An item in any state; `undefined` for an unknown id. */
  getWork(id: string): Promise<WorkItem | undefined>;
}

/** The `work_source` of a schedule as a factory gets it: a type, and the keys of that type. */
export interface WorkSourceConfig {
  readonly type: string;
  readonly [key: string]: unknown;
}

/**
 * The work sources that a host registers, by type. A host declares theirs, so that its schedules may have them:
 * `declare module "rota" { interface RegisteredWorkSources { tickets: { readonly queue: string } } }`.
 */
// oxlint-disable-next-line typescript/no-empty-interface, typescript/no-empty-object-type -- hosts add its members
export interface RegisteredWorkSources {}

/** The `work_source` of a schedule as a program writes it. */
export type ScheduleWorkSource =
  | DirectorySourceConfig
  | GitHubSourceConfig
  | MemorySourceConfig
  | {
      [Type in keyof RegisteredWorkSources]: { readonly type: Type } & RegisteredWorkSources[Type];
    }[keyof RegisteredWorkSources];

/** Files in a directory, which any number of processes may share. */
export interface DirectorySourceConfig {
  readonly type: "directory";
  /** The directory with ready/, working/, done/ and failed/, which are created. */
  readonly path: string;
  /** How long a claim lasts without a renewal. @default "1h" */
  readonly claim_expiry?: string | undefined;
}

/** Issues of a GitHub repository. */
export interface GitHubSourceConfig {
  readonly type: "github";
  /** "owner/name". */
  readonly repo: string;
  readonly labels?: Partial<Record<"ready" | "working" | "done" | "failed", string>> | undefined;
  /** @default ["blocked", "wip"] */
  readonly exclude_labels?: readonly string[] | undefined;
  /** How long a claim lasts without a renewal. @default "1h" */
  readonly claim_expiry?: string | undefined;
  /** Logins whose claims count. @default all */
  readonly claimers?: readonly string[] | undefined;
  /** The environment variable with the token. @default "GITHUB_TOKEN" */
  readonly token_env?: string | undefined;
  /** @default "https://api.github.com" */
  readonly base_url?: string | undefined;
  readonly priority_labels?: Partial<Record<WorkPriority, readonly string[]>> | undefined;
}

/** Items that the configuration lists. */
export interface MemorySourceConfig {
  readonly type: "memory";
  readonly items?: readonly NewWork[] | undefined;
  /** How long a claim lasts without a renewal. @default "1h" */
  readonly claim_expiry?: string | undefined;
}

/** A new item of a memory source. Unknown keys become its metadata. */
export interface NewWork {
  readonly title: string;
  readonly description?: string | undefined;
  /** @default "medium" */
  readonly priority?: WorkPriority | undefined;
  readonly labels?: readonly string[] | undefined;
  readonly url?: string | undefined;
  /**
   * An ISO time.
   * @default now
   */
  readonly created_at?: string | undefined;
  readonly [key: string]: unknown;
}
