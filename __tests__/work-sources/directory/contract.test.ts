/** The contract of all work sources, for a directory of files. */
import { describeWorkSource } from "../../contract/work-source-contract.js";
import { HOUR_MS, WorkDirectory } from "./work-directory.js";

describeWorkSource(
  "a directory",
  () => {
    const directory = new WorkDirectory();
    let count = 0;
    return {
      clock: directory.clock,
      add: async (item) => void directory.write(`${++count}.json`, JSON.stringify(item)),
      connect: () => directory.connect(),
    };
  },
  { claimExpiryMs: HOUR_MS },
);
