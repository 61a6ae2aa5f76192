import { onTestFinished } from "vitest";
import { PostgresStore } from "../../../src/state/postgres/index.js";
import { testAgentPauses } from "../../contract/agent-pause-contract.js";
import { newSchema, sharedPool } from "./schema.js";

testAgentPauses("PostgresStore", async (clock) => {
  const options = { clock, pool: sharedPool(), schema: newSchema() };
  const open = async (): Promise<PostgresStore> => {
    const store = new PostgresStore(options);
    await store.open();
    onTestFinished(() => store.close());
    return store;
  };
  return { store: await open(), reopen: open, outside: new PostgresStore(options) };
});
