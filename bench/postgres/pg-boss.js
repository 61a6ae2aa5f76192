/** pg-boss with its batches: a batch is fetched by one statement and completed by another. */
import { PgBoss } from "pg-boss";
import { Pool } from "pg";
import { setTimeout as sleep } from "node:timers/promises";

const QUEUE = "noop";

async function open({ url }, options) {
  const boss = new PgBoss({ connectionString: url, max: 10, ...options });
  boss.on("error", (error) => console.error(error));
  await boss.start();
  await boss.createQueue(QUEUE, { notify: options.schedule });
  return boss;
}

export async function jobs({ count, warmUpCount, batch, workers, ...options }, stopwatch) {
  const boss = await open(options, { supervise: false, schedule: false });
  const pool = new Pool({ connectionString: options.url, max: 1 });
  const leftInQueue = async () =>
    (
      await pool.query(
        "select count(*)::int as count from pgboss.job where name = $1 and state < 'completed'",
        [QUEUE],
      )
    ).rows[0].count;
  const drain = async (many) => {
    for (let made = 0; made < many; made += 5_000)
      await boss.insert(
        QUEUE,
        Array.from({ length: Math.min(5_000, many - made) }, (_, i) => ({ data: { i } })),
      );
    await pool.query("vacuum analyze pgboss.job_common");
    let left = many;
    let ended;
    const all = new Promise((resolve) => {
      ended = resolve;
    });
    const polling = { batchSize: batch, pollingIntervalSeconds: 0.5, burstWhenBatchFull: true };
    stopwatch.start();
    for (let i = 0; i < workers; i++)
      await boss.work(QUEUE, polling, async (jobsOfBatch) => {
        left -= jobsOfBatch.length;
        if (left === 0) ended();
      });
    await all;
    while ((await leftInQueue()) > 0) await sleep(2);
    const figures = stopwatch.stop(many);
    await boss.offWork(QUEUE, { wait: true });
    return figures;
  };
  await drain(warmUpCount);
  const figures = await drain(count);
  const { rows } = await pool.query(
    "select count(*)::int as count from pgboss.job where name = $1 and state = 'completed'",
    [QUEUE],
  );
  await pool.end();
  await boss.stop({ graceful: false });
  return { ...figures, missing: count + warmUpCount - rows[0].count };
}

export async function cron({ count, batch, workers, ...options }, started) {
  const boss = await open(options, {
    supervise: false,
    schedule: true,
    useListenNotify: true,
    cronMonitorIntervalSeconds: 1,
    cronWorkerIntervalSeconds: 1,
  });
  for (let i = 0; i < count; i++) await boss.schedule(QUEUE, "* * * * *", { i }, { key: `schedule-${i}` });
  const polling = { batchSize: batch, pollingIntervalSeconds: 0.5, burstWhenBatchFull: true };
  for (let i = 0; i < workers; i++)
    await boss.work(QUEUE, { ...polling, notifyPollingIntervalSeconds: 0.5 }, async (jobsOfBatch) => {
      for (const { data } of jobsOfBatch) started(data.i);
    });
  return () => boss.stop({ graceful: false });
}
