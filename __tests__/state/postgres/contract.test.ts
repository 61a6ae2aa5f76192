import { PostgresStore } from "../../../src/state/postgres/index.js";
import { describeReservations } from "../../contract/reservation-contract.js";
import { describeStateStore } from "../../contract/state-store-contract.js";
import { newSchema, sharedPool } from "./schema.js";

describeStateStore(
  "PostgreSQL store",
  (options) => new PostgresStore({ ...options, pool: sharedPool(), schema: newSchema() }),
);
describeReservations(
  "PostgreSQL store",
  (options) => new PostgresStore({ ...options, pool: sharedPool(), schema: newSchema() }),
  { isMade: false },
);
