import { PostgresStore } from "../../../src/state/postgres/index.js";
import { describeJobFinish } from "../../contract/job-finish-contract.js";
import { describeStateStore } from "../../contract/state-store-contract.js";
import { newSchema, sharedPool } from "./schema.js";
import { connectionLost, isWrite, type Query, SteeredPool } from "./steered-pool.js";

describeStateStore(
  "PostgreSQL store",
  (options) => new PostgresStore({ ...options, pool: sharedPool(), schema: newSchema() }),
);
describeJobFinish("PostgreSQL store", (options) => {
  const pool = new SteeredPool();
  const fail = (isCarriedOut: (query: Query) => boolean) => (): (() => void) => {
    pool.steer = async (query, carryOut) => {
      if (isCarriedOut(query)) await carryOut();
      throw connectionLost();
    };
    return () => {
      pool.steer = (_, carryOut) => carryOut();
    };
  };
  return {
    store: new PostgresStore({ ...options, pool, schema: newSchema() }),
    loseReplies: fail((query) => isWrite(query) || query.text.includes("record_jobs")),
    refuseWrites: fail(() => false),
  };
});
