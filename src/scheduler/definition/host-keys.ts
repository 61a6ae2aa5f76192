/** Apart from the schemas, so that no type of zod is among the types of the package. */

/** What a host adds to what Rota knows, and how its jobs run. */
export interface HostKeys {
  /** Types of runtimes that the host has registered. */
  readonly runtimeTypes?: readonly string[] | undefined;
  /** Types of work sources that the host has registered. */
  readonly workSourceTypes?: readonly string[] | undefined;
  /** Keys of agents that the host reads itself. */
  readonly agentKeys?: readonly string[] | undefined;
  /** Whether the host reads `work_source` itself, so that it may be anything. @default false */
  readonly acceptsAnyWorkSource?: boolean | undefined;
  /**
   * Refuses an agent that has schedules and neither a runtime, nor a `run` function, nor an agent SDK.
   * @default undefined: the host runs all jobs
   */
  readonly runners?: { readonly hasSdkQuery: boolean } | undefined;
}
