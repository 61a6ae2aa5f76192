import { onTestFinished } from "vitest";
import { FileStore } from "../../../src/index.js";
import { testAgentPauses } from "../../contract/agent-pause-contract.js";
import { stateDirectory } from "../temporary-directory.js";

testAgentPauses("FileStore", async (clock) => {
  const stateDir = stateDirectory();
  const open = async (): Promise<FileStore> => {
    const store = new FileStore({ stateDir, clock });
    await store.open();
    onTestFinished(() => store.close());
    return store;
  };
  return { store: await open(), reopen: open, outside: new FileStore({ stateDir, clock }) };
});
