/** The mailbox in memory keeps the contract. */
import { MemoryStore } from "../../../src/index.js";
import { testMailbox } from "../../contract/mailbox-contract.js";

testMailbox("MemoryStore", async (clock) => {
  const store = new MemoryStore({ clock });
  await store.open();
  return {
    store,
    outside: store.mailbox,
    reopen: async () => {
      await store.open();
      return store;
    },
  };
});
