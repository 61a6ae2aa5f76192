/** graphile-worker with its local queue and batched completions. */
import { Logger, makeWorkerUtils, parseCronItems, run } from "graphile-worker";
import { Pool } from "pg";
import { setTimeout as sleep } from "node:timers/promises";

const logger = new Logger(() => () => {});
/** All by one call: `add_job` takes half a minute for as many as are measured. */
const ADD_JOBS = `select from graphile_worker.add_jobs(array(
  select row('noop', '{}', null, null, null, null, null, null)::graphile_worker.job_spec from generate_series(1, $1)))`;

async function open({ url, concurrency, localQueue }, taskList, parsedCronItems = []) {
  const pgPool = new Pool({ connectionString: url, max: 10 });
  pgPool.on("error", () => {});
  pgPool.on("connect", (client) => client.on("error", () => {}));
  const utils = await makeWorkerUtils({ pgPool, logger });
  await utils.migrate();
  const worker = {
    concurrentJobs: concurrency,
    maxPoolSize: 10,
    localQueue: { size: localQueue },
    completeJobBatchDelay: 0,
    failJobBatchDelay: 0,
  };
  const preset = { worker };
  return {
    pgPool,
    start: () => run({ pgPool, logger, preset, taskList, parsedCronItems, noHandleSignals: true }),
    close: async () => {
      await utils.release();
      await pgPool.end();
    },
  };
}

export async function jobs({ count, warmUpCount, ...options }, stopwatch) {
  let left = 0;
  let ended;
  const noop = () => void (--left === 0 && ended());
  const { pgPool, start, close } = await open(options, { noop });
  const isEmpty = async () => (await pgPool.query("select from graphile_worker.jobs limit 1")).rowCount === 0;
  const drain = async (many) => {
    await pgPool.query(ADD_JOBS, [many]);
    await pgPool.query("vacuum analyze graphile_worker._private_jobs");
    left = many;
    const all = new Promise((resolve) => {
      ended = resolve;
    });
    stopwatch.start();
    const runner = await start();
    await all;
    // Its own events come before a completion is written.
    while (!(await isEmpty())) await sleep(2);
    const figures = stopwatch.stop(many);
    await runner.stop();
    return figures;
  };
  await drain(warmUpCount);
  const figures = await drain(count);
  await close();
  return { ...figures, missing: 0 };
}

export async function cron({ count, ...options }, started) {
  const items = Array.from({ length: count }, (_, i) => ({
    task: "noop",
    match: "* * * * *",
    identifier: `schedule-${i}`,
    payload: { i },
  }));
  const noop = ({ i }) => started(i);
  const { start, close } = await open(options, { noop }, parseCronItems(items));
  const runner = await start();
  return async () => {
    await runner.stop();
    await close();
  };
}
