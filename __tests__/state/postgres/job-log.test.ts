import { Database } from "../../../src/state/postgres/database.js";
import { PostgresJobLog } from "../../../src/state/postgres/index.js";
import { migrateDatabase } from "../../../src/state/postgres/migrate.js";
import { processLogger } from "../../../src/logger.js";
import { testJobLog } from "../../contract/job-log-contract.js";
import { newSchema, sharedPool } from "./schema.js";

testJobLog("PostgresJobLog", async (setup) => {
  const options = { pool: sharedPool(), schema: newSchema(), logger: processLogger };
  const database = new Database({ ...options, prepare: migrateDatabase });
  const log = new PostgresJobLog({ database, logger: processLogger, ...setup });
  return { log, [Symbol.asyncDispose]: () => log.close() };
});
