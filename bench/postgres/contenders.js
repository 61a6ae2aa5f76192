/**
 * Who is compared, with which settings and why these, and what is kept of a job. What they do is in their own files,
 * which are loaded by the process that measures them.
 */

/** Of each contender the best of its `settings` counts. Who is slow, one by one, gets `most` jobs and no more. */
export const JOBS = {
  rota: {
    file: "rota.js",
    keeps: "the schedule's state and next plan, the job's record with its start and its end",
    why: "as it comes; 10 schedules an agent",
    settings: [{}],
  },
  "rota, store alone": {
    file: "rota-store.js",
    keeps: "the schedule's state and next plan",
    why: "claimDue and finishJobs, one after the other; no scheduler, no job log",
    settings: [{ batch: 1_000 }],
  },
  "graphile-worker": {
    file: "graphile-worker.js",
    keeps: "nothing: a completed job is deleted",
    why: "its performance page: concurrency 24, local queue 500, completions batched without delay; and more of each",
    settings: [
      { concurrency: 24, localQueue: 500 },
      { concurrency: 24, localQueue: 2_000 },
      { concurrency: 100, localQueue: 1_000 },
    ],
  },
  "pg-boss": {
    file: "pg-boss.js",
    keeps: "the job with its times, for 7 days",
    why: "fetched and completed in batches, fetched anew at once while batches are full",
    settings: [
      { batch: 500, workers: 2 },
      { batch: 1_000, workers: 1 },
      { batch: 2_000, workers: 2 },
    ],
  },
  "bullmq, everysec": {
    file: "bullmq.js",
    needs: "redis",
    most: 5_000,
    keeps: "nothing: removed on completion; up to a second of it lost when the machine dies",
    why: "Redis' default with an append-only file, written to the disk once a second",
    settings: [
      { appendfsync: "everysec", concurrency: 20 },
      { appendfsync: "everysec", concurrency: 100 },
    ],
  },
  "bullmq, always": {
    file: "bullmq.js",
    needs: "redis",
    most: 5_000,
    keeps: "nothing: removed on completion; durable as PostgreSQL's commits are",
    why: "the append-only file is on the disk before a reply",
    settings: [
      { appendfsync: "always", concurrency: 20 },
      { appendfsync: "always", concurrency: 100 },
    ],
  },
  "bullmq on PostgreSQL": {
    file: "bullmq.js",
    most: 2_000,
    keeps: "nothing: removed on completion",
    why: "its other backend, on the same server as everybody else",
    settings: [{ concurrency: 10 }, { concurrency: 50 }],
  },
};

export const CLAIMS = {
  "bare loop": { file: "bare-loop.js", settings: [{}] },
  "rota, 1 an agent": { file: "rota-store.js", settings: [{ perAgent: 1 }] },
  "rota, 100 an agent": { file: "rota-store.js", settings: [{ perAgent: 100 }] },
};

export const CRON = {
  rota: { file: "rota.js", why: "as it comes; 10 schedules an agent", settings: [{}] },
  "bullmq, everysec": {
    file: "bullmq.js",
    needs: "redis",
    why: "one job scheduler each, which makes the next job when one starts",
    settings: [{ appendfsync: "everysec", concurrency: 100 }],
  },
  "bullmq on PostgreSQL": {
    file: "bullmq.js",
    why: "as above, on its other backend",
    settings: [{ concurrency: 50 }],
  },
  "graphile-worker": {
    file: "graphile-worker.js",
    why: "its crontab has minutes only; settings as above",
    settings: [{ concurrency: 24, localQueue: 500 }],
  },
  "pg-boss": {
    file: "pg-boss.js",
    why: "its cron has minutes only and is looked at once a second here, which is its least",
    settings: [{ batch: 1_000, workers: 1 }],
  },
};
