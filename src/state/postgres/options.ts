/** What a PostgresStore can be told when it is made. */
import type { Clock } from "../../clock.js";
import type { Logger } from "../../logger.js";
import type { PostgresPool } from "./connection/database.js";

export interface PostgresStoreOptions {
  /** Where the database is: "postgres://user:password@host:5432/database". This or a pool. */
  readonly connectionString?: string | undefined;
  /** A `Pool` of `pg`, which stays the caller's to end. */
  readonly pool?: PostgresPool | undefined;
  /** @default "rota" */
  readonly schema?: string | undefined;
  /** What others see this scheduler as. @default the host's name and the process id */
  readonly nodeName?: string | undefined;
  /**
   * How long a claim lasts that is not renewed, in milliseconds.
   * @default 30_000
   */
  readonly leaseMs?: number | undefined;
  /** For tests: a clock to go by in place of the database's. */
  readonly clock?: Clock | undefined;
  /** @default warnings and errors become Node's process warnings */
  readonly logger?: Logger | undefined;
  /** What is kept of jobs, as the job log has it. */
  readonly jobs?: {
    readonly maxAgeDays?: number;
    readonly maxJobs?: number;
    readonly maxOutputBytes?: number;
  };
}
