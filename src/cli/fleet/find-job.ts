/** Finds the job that a text names: an id, the end of one, or an agent or agent/schedule for its latest job. */
import { quote } from "../../errors.js";
import { dayInJobId } from "../../state/job-log/job-id.js";
import type { JobLog, JobRecord } from "../../state/job-log/job-log.js";
import type { Argument } from "../command.js";
import { notFoundError, usageError } from "../errors.js";
import { unknownName } from "./find-target.js";

/** The argument that `findJob` reads. */
export const JOB: Argument = {
  name: "job",
  isRequired: true,
  summary: "The job's id or the end of it; or an agent or agent/schedule, for its latest job.",
  completion: "job",
};

const SHORT_ID = /^[0-9a-z-]{2,}$/;
const MOST_SHOWN = 5;

/** Rejects with NOT_FOUND, or with USAGE when the end of an id matches several jobs. */
export async function findJob(jobs: JobLog, text: string): Promise<JobRecord> {
  if (dayInJobId(text) !== undefined) {
    const record = await jobs.get(text);
    if (record !== undefined) return record;
    throw unknownName("job", text, await recentIds(jobs));
  }
  const latest = await latestOf(jobs, text);
  if (latest !== undefined) return latest;
  const fitting = SHORT_ID.test(text) ? await endingWith(jobs, text) : [];
  const [only, ...others] = fitting;
  if (only !== undefined && others.length === 0) return only;
  if (only !== undefined)
    throw usageError(
      `${quote(text)} matches several job ids. Name one: ${fitting.map(({ id }) => id).join(", ")}`,
    );
  throw notFoundError(
    `There is no job ${quote(text)}, and no agent or agent/schedule of that name has a job. \`rota jobs\` lists jobs`,
  );
}

/** Names may contain slashes, so this tries to split the text at each slash. */
async function latestOf(jobs: JobLog, text: string): Promise<JobRecord | undefined> {
  const [ofAgent] = await jobs.list({ agent: text, limit: 1 });
  if (ofAgent !== undefined) return ofAgent;
  for (let slash = text.indexOf("/"); slash >= 0; slash = text.indexOf("/", slash + 1)) {
    const filter = { agent: text.slice(0, slash), schedule: text.slice(slash + 1), limit: 1 };
    const [latest] = await jobs.list(filter);
    if (latest !== undefined) return latest;
  }
  return undefined;
}

async function endingWith(jobs: JobLog, text: string): Promise<readonly JobRecord[]> {
  const all = await jobs.list({ limit: Infinity });
  return all.filter(({ id }) => id.endsWith(text)).slice(0, MOST_SHOWN);
}

async function recentIds(jobs: JobLog): Promise<string[]> {
  return (await jobs.list({ limit: MOST_SHOWN })).map(({ id }) => id);
}
