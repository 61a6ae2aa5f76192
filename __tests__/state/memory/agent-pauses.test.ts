import { MemoryStore } from "../../../src/index.js";
import { testAgentPauses } from "../../contract/agent-pause-contract.js";

testAgentPauses("MemoryStore", async (clock) => {
  const store = new MemoryStore({ clock });
  await store.open();
  const reopen = async (): Promise<MemoryStore> => {
    await store.open();
    return store;
  };
  return { store, reopen };
});
