/**
 * An agent that takes issues labelled `ready` from a GitHub repository, reports in a comment, and closes them.
 * GITHUB_TOKEN=… GITHUB_REPOSITORY=owner/name node examples/github-issues.js — it ends when none is left.
 */
import { MemoryStore, Scheduler } from "rota";

const { GITHUB_TOKEN, GITHUB_REPOSITORY: repo, GITHUB_API_URL } = process.env;
if (!GITHUB_TOKEN || !repo) {
  console.error(
    "Set GITHUB_TOKEN, and GITHUB_REPOSITORY to owner/name. The token needs Issues: read and write.",
  );
  process.exit(1);
}

const logger = { info() {}, warn: console.warn, error: console.error };
const scheduler = new Scheduler({ store: new MemoryStore(), logger });
scheduler.on("job:finished", ({ job }) => {
  if (job.work_item !== null)
    console.log(`${job.work_item.title}: ${job.status}, ${job.summary ?? job.error}`);
});
const ended = new Promise((resolve, reject) => {
  scheduler.on("schedule:skipped", ({ reason }) => reason === "no_work" && resolve());
  scheduler.on("scheduler:error", ({ error }) => reject(error));
});
await scheduler.start([
  {
    name: "fixer",
    schedules: {
      issues: {
        type: "interval",
        interval: "1s", // minutes, on a repository that people watch
        on_failure: "continue",
        prompt: "Answer this issue.",
        work_source: {
          type: "github",
          repo,
          labels: { done: "answered" },
          ...(GITHUB_API_URL && { base_url: GITHUB_API_URL }),
        },
      },
    },
    // Your agent. What it answers is the comment; when it throws, the issue stays open.
    run: async ({ workItem, prompt }) => `I read ${prompt.length} characters about "${workItem.title}".`,
  },
]);
try {
  await ended;
} finally {
  await scheduler.stop();
}
