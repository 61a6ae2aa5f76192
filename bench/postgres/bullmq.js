/** bullmq on Redis, or on PostgreSQL where no way to sync its file is named. Completed jobs are removed, which is fastest. */
import { createPostgresBackend, Queue, Worker } from "bullmq";
import { Redis } from "ioredis";

const QUEUE = "noop";
const DEFAULT_JOB_OPTIONS = { removeOnComplete: true, removeOnFail: true };

async function open({ url, redisUrl, appendfsync }) {
  if (appendfsync === undefined) {
    const connect = (Class, ...args) => {
      const last = args.pop();
      return new Class(
        QUEUE,
        ...args,
        { connection: { connectionString: url, migrate: true, max: 10 }, ...last },
        createPostgresBackend,
      );
    };
    return { connect, close: async () => {} };
  }
  const connection = new Redis(redisUrl, { maxRetriesPerRequest: null });
  await connection.flushall();
  await connection.config("SET", "appendonly", "yes");
  await connection.config("SET", "appendfsync", appendfsync);
  const connect = (Class, ...args) => {
    const last = args.pop();
    return new Class(QUEUE, ...args, { connection, ...last });
  };
  return { connect, close: () => connection.quit() };
}

export async function jobs({ count, warmUpCount, concurrency, ...options }, stopwatch) {
  const { connect, close } = await open(options);
  const queue = connect(Queue, { defaultJobOptions: DEFAULT_JOB_OPTIONS });
  await queue.waitUntilReady();
  const drain = async (many) => {
    for (let made = 0; made < many; made += 1_000)
      await queue.addBulk(
        Array.from({ length: Math.min(1_000, many - made) }, (_, i) => ({ name: "noop", data: { i } })),
      );
    const worker = connect(Worker, async () => {}, { concurrency, autorun: false });
    worker.on("error", (error) => console.error(error));
    await worker.waitUntilReady();
    let left = many;
    const all = new Promise((resolve) => {
      // After the completion was answered.
      worker.on("completed", () => void (--left === 0 && resolve()));
    });
    stopwatch.start();
    void worker.run();
    await all;
    const figures = stopwatch.stop(many);
    await worker.close();
    return figures;
  };
  await drain(warmUpCount);
  const figures = await drain(count);
  const { waiting, active, failed } = await queue.getJobCounts("waiting", "active", "failed");
  await queue.close();
  await close();
  return { ...figures, missing: waiting + active + failed };
}

export async function cron({ count, concurrency, ...options }, started) {
  const { connect, close } = await open(options);
  const queue = connect(Queue, { defaultJobOptions: DEFAULT_JOB_OPTIONS });
  await queue.waitUntilReady();
  for (let i = 0; i < count; i += 100)
    await Promise.all(
      Array.from({ length: Math.min(100, count - i) }, (_, n) =>
        queue.upsertJobScheduler(
          `schedule-${i + n}`,
          { pattern: "* * * * *" },
          { name: "noop", data: { i: i + n }, opts: DEFAULT_JOB_OPTIONS },
        ),
      ),
    );
  const worker = connect(Worker, async ({ data }) => started(data.i), { concurrency });
  worker.on("error", (error) => console.error(error));
  await worker.waitUntilReady();
  return async () => {
    await worker.close();
    await queue.close();
    await close();
  };
}
