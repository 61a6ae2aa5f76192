// Starts and ends jobs until it is killed, and prints each acknowledgement: "started job-…", "ended job-…".
import { writeSync } from "node:fs";
import { FileJobLog } from "../../../dist/state/file/jobs/file-job-log.js";

const log = new FileJobLog({ directory: process.argv[2] });

async function keepJobs(agent) {
  for (;;) {
    const { id } = await log.start({ agent, trigger: "manual", prompt: "x".repeat(300) });
    writeSync(1, `started ${id}\n`);
    await log.finish(id, { status: "completed", summary: id });
    writeSync(1, `ended ${id}\n`);
  }
}

await Promise.all(["a", "b", "c", "d"].map(keepJobs));
