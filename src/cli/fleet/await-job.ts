/** Waits for the end of a job that a scheduler runs in another process, and says how it ended. */
import type { JobRecord } from "../../state/job-log/job-log.js";
import type { Call } from "../command.js";
import { JOB_STYLES, tookText } from "../commands/jobs.js";
import { refusedError } from "../errors.js";
import { EXIT, type ExitCode } from "../exit-codes.js";
import type { Guest } from "../location/state-location.js";
import { Progress } from "../progress.js";
import { oneLine } from "../format/text-width.js";
import { shortDuration } from "../format/when.js";

const LOOK_EVERY_MS = 250;

/** Answers its final record. Rejects when nobody will ever end it, or nobody reads what is said any more. */
export async function awaitJob(call: Call, guest: Guest, id: string): Promise<JobRecord> {
  const { clock, signal } = call.context;
  const progress = new Progress(call.context);
  const startedMs = clock.monotonic();
  try {
    for (;;) {
      const record = await guest.store.jobs.get(id);
      if (record !== undefined && record.status !== "running") return record;
      if (record !== undefined && (await guest.isAbandoned(id)))
        throw refusedError(`${id} will not end: the process that ran it is gone`);
      progress.show(`${id} runs, ${shortDuration(clock.monotonic() - startedMs)}`);
      await clock.sleep(LOOK_EVERY_MS, signal);
    }
  } finally {
    progress.end();
  }
}

/** Says how a job ended. */
export function tellEnd(call: Call, record: JobRecord): ExitCode {
  const { context, isJson, output } = call;
  const { id, status, error, summary } = record;
  if (isJson) output.json(record);
  else {
    const how = output.paintTalk(JOB_STYLES[status], status);
    const said = error ?? summary;
    const took = tookText(record, context.clock.now());
    output.talk(`${id} ${how} after ${took}${said === null ? "" : `: ${oneLine(said)}`}`);
  }
  return status === "completed" ? EXIT.ok : EXIT.jobFailed;
}
