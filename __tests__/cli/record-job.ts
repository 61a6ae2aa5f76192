/** A job in the log of a store: with its end, where it has one, and its output. */
import type { JobOutcomeRecord, NewJob } from "../../src/state/job-log/job-log.js";
import type { StateStore } from "../../src/state/store.js";

export async function recordJob(
  { jobs }: StateStore,
  job: Partial<NewJob>,
  end?: JobOutcomeRecord,
  output?: string,
): Promise<string> {
  const { id } = await jobs.start({ agent: "reports", schedule: "hourly", trigger: "interval", ...job });
  if (output !== undefined) {
    const writing = await jobs.openOutput(id);
    await writing.write(output);
    await writing.close();
  }
  if (end !== undefined) await jobs.finish(id, end);
  return id;
}
