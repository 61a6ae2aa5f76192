// Starts and ends so many jobs, some of them at once, and prints their ids.
import { FileJobLog } from "../../../dist/state/file/jobs/file-job-log.js";

const [, , directory, agent, count] = process.argv;
const log = new FileJobLog({ directory });
const ids = [];
while (ids.length < Number(count)) {
  const batch = await Promise.all(
    Array.from({ length: 10 }, () => log.start({ agent, trigger: "manual", prompt: agent.repeat(200) })),
  );
  const ends = await Promise.all(batch.map(({ id }) => log.finish(id, { status: "completed", summary: id })));
  if (ends.includes(false)) throw new Error("A job of this process was ended by somebody else.");
  ids.push(...batch.map(({ id }) => id));
}
await log.close();
process.stdout.write(ids.join("\n"));
