/** Finds the job that a text names: an id, the end of one, or an agent or agent/schedule for its latest job. */
import { quote } from "../../errors.js";
import { dayInJobId } from "../../state/job-log/job-id.js";
import type { JobFilter, JobLog, JobRecord } from "../../state/job-log/job-log.js";
import type { ScheduleKey } from "../../state/store.js";
import type { Argument, Call } from "../command.js";
import { notFoundError, usageError } from "../errors.js";
import { configOf } from "../location/locate.js";
import type { StateConnection } from "../location/state-location.js";
import { findTargets, unknownName } from "./find-target.js";
import { definedKeys } from "./fleet.js";

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
  const latest = dayInJobId(text) === undefined ? await latestOf(jobs, text) : undefined;
  const found = latest ?? (await findJobById(jobs, text));
  if (found !== undefined) return found;
  throw notFoundError(
    `There is no job ${quote(text)}, and no agent or agent/schedule of that name has a job. \`rota jobs\` lists jobs`,
  );
}

/**
 * The job of this id, or whose id ends with this; `undefined` for a text that fits no id. Rejects with NOT_FOUND for a whole
 * id that is unknown, and with USAGE when the end of an id matches several jobs.
 */
export async function findJobById(jobs: JobLog, text: string): Promise<JobRecord | undefined> {
  if (dayInJobId(text) !== undefined) {
    const record = await jobs.get(text);
    if (record !== undefined) return record;
    throw unknownName("job", text, await recentIds(jobs));
  }
  const fitting = SHORT_ID.test(text) ? await endingWith(jobs, text) : [];
  const [only, ...others] = fitting;
  if (only === undefined || others.length === 0) return only;
  throw usageError(
    `${quote(text)} matches several job ids. Name one: ${fitting.map(({ id }) => id).join(", ")}`,
  );
}

/** An agent, or one of its schedules. */
export type JobsOf = Pick<JobFilter, "agent" | "schedule"> & { readonly agent: string };

/** What a text may name. Names may contain slashes, so this splits the text at each slash. */
function readings(text: string): readonly JobsOf[] {
  const split: JobsOf[] = [{ agent: text }];
  for (let slash = text.indexOf("/"); slash >= 0; slash = text.indexOf("/", slash + 1))
    split.push({ agent: text.slice(0, slash), schedule: text.slice(slash + 1) });
  return split;
}

/** Whether a text names an agent or a schedule that has jobs. */
export async function hasJobs(jobs: JobLog, text: string): Promise<boolean> {
  return (await latestOf(jobs, text)) !== undefined;
}

async function latestOf(jobs: JobLog, text: string): Promise<JobRecord | undefined> {
  for (const filter of readings(text)) {
    const [latest] = await jobs.list({ ...filter, limit: 1 });
    if (latest !== undefined) return latest;
  }
  return undefined;
}

/**
 * The agent or schedule that a text names: one with jobs, or one in the state or the configuration. Rejects an unknown
 * name with NOT_FOUND: it is probably a typo.
 */
export async function findJobsOf(call: Call, connection: StateConnection, text: string): Promise<JobsOf> {
  const { jobs } = connection.store;
  for (const filter of readings(text))
    if ((await jobs.list({ ...filter, limit: 1 })).length > 0) return filter;
  const known: ScheduleKey[] = [];
  for (const [agent, schedules] of await connection.states())
    for (const schedule of schedules.keys()) known.push({ agent, schedule });
  const config = await configOf(call);
  known.push(...(config === undefined ? [] : definedKeys(config)));
  const found = readings(text).find(({ agent, schedule }) =>
    known.some((key) => key.agent === agent && (schedule === undefined || key.schedule === schedule)),
  );
  if (found !== undefined) return found;
  const logged = (await jobs.list({ limit: Infinity })).flatMap(({ agent, schedule }) =>
    schedule === null ? [] : [{ agent, schedule }],
  );
  return findTargets([...known, ...logged], text)[0] ?? { agent: text };
}

async function endingWith(jobs: JobLog, text: string): Promise<readonly JobRecord[]> {
  const all = await jobs.list({ limit: Infinity });
  return all.filter(({ id }) => id.endsWith(text)).slice(0, MOST_SHOWN);
}

async function recentIds(jobs: JobLog): Promise<string[]> {
  return (await jobs.list({ limit: MOST_SHOWN })).map(({ id }) => id);
}
