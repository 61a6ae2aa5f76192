import { Scheduler } from "rota";

const scheduler = new Scheduler(); // keeps its state in .rota
scheduler.on("job:finished", ({ job }) => console.log(job.agent, job.status, job.summary));
await scheduler.start([
  {
    name: "reader",
    schedules: { morning: { type: "cron", expression: "0 9 * * *", prompt: "Read the news." } },
    run: async ({ prompt }) => `did: ${prompt}`, // your agent, script or request
  },
]);
await scheduler.trigger("reader"); // runs a job now, whatever the time
await scheduler.stop(); // starts no more jobs, and waits for running ones
