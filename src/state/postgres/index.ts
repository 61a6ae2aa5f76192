/** What `rota/postgres` offers; needs the package `pg`. */
export { migrate, type Migrated } from "./migrate.js";
export { PostgresStore } from "./postgres-store.js";
export type { PostgresStoreOptions } from "./postgres-store-options.js";
export { DatabaseError, type PostgresClient, type PostgresPool, type QueryAnswer } from "./database.js";
export { PostgresJobLog, type PostgresJobLogOptions } from "./postgres-job-log.js";
