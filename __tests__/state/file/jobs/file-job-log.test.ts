import { join } from "node:path";
import { FileJobLog } from "../../../../src/state/file/jobs/file-job-log.js";
import { testJobLog } from "../../../contract/job-log-contract.js";
import { temporaryDirectory } from "../../temporary-directory.js";

testJobLog("FileJobLog", async (setup) => {
  const directory = temporaryDirectory();
  const log = new FileJobLog({ directory: join(directory.path, "state", "jobs"), ...setup });
  return {
    log,
    async [Symbol.asyncDispose]() {
      await log.close();
      directory[Symbol.dispose]();
    },
  };
});
