/** The options of a PostgresStore. */
import type { Duration } from "../../duration.js";
import type { Clock } from "../../clock.js";
import type { Logger } from "../../logger.js";
import type { JobLimits } from "../job-log/job-log.js";
import type { PostgresPool } from "./connection/database.js";

export interface PostgresStoreOptions {
  /** The address of the database: "postgres://user:password@host:5432/database". Give this or a pool. */
  readonly connectionString?: string | undefined;
  /** A `Pool` of `pg`, which the caller ends. */
  readonly pool?: PostgresPool | undefined;
  /** @default "rota" */
  readonly schema?: string | undefined;
  /** The name of this scheduler in lists of nodes. @default the host's name and the process id */
  readonly nodeName?: string | undefined;
  /**
   * How long a claim lasts that is not renewed: milliseconds, or text such as "30s".
   * @default 30_000
   */
  readonly leaseMs?: Duration | undefined;
  /** For tests: a clock in place of the database's. */
  readonly clock?: Clock | undefined;
  /** @default warnings and errors become Node's process warnings */
  readonly logger?: Logger | undefined;
  /** How much is kept of jobs. The size of all together has no limit here. */
  readonly jobs?: JobLimits | undefined;
}
