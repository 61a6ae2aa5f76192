/** The entry point `rota/postgres`, which needs the package `pg`. */
export { migrate, type Migrated } from "./schema/migrate.js";
export { PostgresStore } from "./postgres-store.js";
export type { PostgresStoreOptions } from "./options.js";
export {
  DatabaseError,
  type PostgresClient,
  type PostgresPool,
  type QueryAnswer,
} from "./connection/database.js";
export { PostgresJobLog, type PostgresJobLogOptions } from "./jobs/postgres-job-log.js";
