import { Scheduler } from "rota";

const scheduler = new Scheduler(); // keeps its state in .rota
scheduler.on("job:finished", ({ job }) => console.log(job.agent, job.status, job.summary));
await scheduler.start([
  {
    name: "reader",
    schedules: { hourly: { type: "interval", interval: "1h", prompt: "Read the news." } },
    run: async ({ prompt }) => `did: ${prompt}`, // your agent, script or request
  },
]);
await scheduler.trigger("reader"); // now, besides its times
await scheduler.stop(); // starts nothing more, and waits for what runs
